# The guardian of one spindle process. See guard.go for the protocol.
#
# usage: sh -c SCRIPT spindle-guard watch MARK   reads standard input until it ends, then clears up
#        sh -c SCRIPT spindle-guard wipe DIR     removes one directory

nl='
'

# mounts_below DIR: mount points at or below DIR, deepest last. mountinfo
# writes a blank as \040 and so on; %b undoes that.
mounts_below() {
	while read -r _ _ _ _ point _; do
		case $point in
		*\\*) point=$(printf '%b' "$(printf '%s\n' "$point" | sed 's/\\/\\0/g')") ;;
		esac
		case $point in
		"$1" | "$1"/*) printf '%s\n' "$point" ;;
		esac
	done </proc/self/mountinfo
}

reversed() { sed -n '1!G;h;$p'; }

# wipe DIR: removes DIR. Something mounted in it is unmounted first; where that
# fails DIR stays, because rm would empty what is mounted there. Directories
# without write permission come from package caches. Files of subordinate user
# ids come from building an image as an ordinary user; only root of a user
# namespace with the same ids may remove them.
wipe() {
	[ -e "$1" ] || [ -L "$1" ] || return 0
	mounts_below "$1" | reversed | while IFS= read -r point; do
		umount -l -- "$point"
	done
	if [ -n "$(mounts_below "$1")" ]; then
		echo "something is still mounted in it" >&2
		return 1
	fi
	rm -rf -- "$1" 2>/dev/null && return 0
	chmod -R u+rwX -- "$1" 2>/dev/null
	rm -rf -- "$1" 2>/dev/null && return 0
	unshare --map-auto --map-root-user rm -rf -- "$1" 2>/dev/null && return 0
	mmdebstrap --unshare-helper rm -rf -- "$1" 2>/dev/null && return 0
	rm -rf -- "$1"
}

# kill_groups: kills every registered group, unless its number now belongs to
# a process that started at another time.
kill_groups() {
	printf '%s' "$held" | while read -r what pgid start; do
		[ "$what" = pg ] || continue
		stat=
		{ read -r stat <"/proc/$pgid/stat"; } 2>/dev/null
		set -- ${stat##*) }
		if [ -z "$stat" ] || [ "${20}" = "$start" ]; then
			kill -s KILL -- "-$pgid" 2>/dev/null
		fi
	done
}

# kill_marked MARK: kills what carries the mark, until two looks in a row find
# nothing: a process may fork between being found and being killed. Not every
# grep reads past a NUL without -z.
kill_marked() {
	quiet=0 looks=0
	while [ $quiet -lt 2 ] && [ $looks -lt 100 ]; do
		looks=$((looks + 1))
		found=$(grep -slzF -e "SPINDLE_GUARD=$1." /proc/[0-9]*/environ)
		if [ -z "$found" ]; then
			quiet=$((quiet + 1))
			continue
		fi
		quiet=0
		for file in $found; do
			pid=${file#/proc/}
			kill -s KILL "${pid%/environ}" 2>/dev/null
		done
		sleep 0.02 2>/dev/null || sleep 1
	done
}

watch() {
	trap '' INT TERM HUP QUIT
	held=$nl
	while IFS= read -r line; do
		item=${line#?}
		case $line in
		+*) held=$held$item$nl ;;
		-*)
			case $held in
			*"$nl$item$nl"*)
				held=${held%%"$nl$item$nl"*}$nl${held#*"$nl$item$nl"}
				;;
			esac
			;;
		esac
	done

	kill_groups
	kill_marked "$1"
	printf '%s' "$held" | reversed | while IFS= read -r item; do
		case $item in
		"mnt "*) umount -l -- "${item#mnt }" ;;
		esac
	done
	printf '%s' "$held" | while IFS= read -r item; do
		case $item in
		"dir "*) wipe "${item#dir }" ;;
		esac
	done
}

"$@"
