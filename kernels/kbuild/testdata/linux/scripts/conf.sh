# conf.sh KCONFIG ASKED OUT: keeps the symbols that KCONFIG defines and whose one
# dependency is asked for too.
awk -v asked="$2" '
BEGIN {
	while ((getline line < asked) > 0)
		if (match(line, /^CONFIG_[A-Z0-9_]+=/)) want[substr(line, 8, RLENGTH - 8)] = substr(line, RLENGTH + 1)
	print "# Automatically generated file; DO NOT EDIT."
}
function put() {
	if (symbol == "") return
	if ((symbol in want) && (needs == "" || want[needs] == "y")) print "CONFIG_" symbol "=" want[symbol]
	else if (needs == "" || want[needs] == "y") print "# CONFIG_" symbol " is not set"
}
$1 == "config" { put(); symbol = $2; needs = "" }
$1 == "depends" { needs = $3 }
END { put() }
' "$1" > "$3"
