# conf.sh KCONFIG ASKED OUT: keeps the symbols that KCONFIG defines and whose one
# dependency is asked for too.
awk -v asked="$2" '
BEGIN {
	while ((getline line < asked) > 0)
		if (match(line, /^CONFIG_[A-Z0-9_]+=/)) want[substr(line, 8, RLENGTH - 8)] = substr(line, RLENGTH + 1)
		else if (match(line, /^# CONFIG_[A-Z0-9_]+ is not set/)) delete want[substr(line, 10, RLENGTH - 20)]
	print "# Automatically generated file; DO NOT EDIT."
}
function met() { return needs == "" || (needs in want) && want[needs] == "y" }
function put() {
	if (symbol == "") return
	if ((symbol in want) && met()) print "CONFIG_" symbol "=" want[symbol]
	else if (met()) print "# CONFIG_" symbol " is not set"
}
$1 == "config" { put(); symbol = $2; needs = "" }
$1 == "depends" { needs = $3 }
END { put() }
' "$1" > "$3"
