# usage: cc COMPILER ARGUMENT... as the kernel's build calls the compiler: the
# source, where there is one, is the last argument.

for last; do :; done
case $last in
*.S | *.s) exec "$@" ;;
*.c) grep -q incbin -- "$last" 2>/dev/null && exec "$@" ;;
esac
exec "$ccache" "$@"
