package kbuild

// unset are variables by which the environment would change a build. Those of
// make itself come from a make that runs us.
var unset = []string{
	"MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKELEVEL", "MAKEFILES", "MAKEOVERRIDES",
	"ARCH", "SUBARCH", "SRCARCH", "CROSS_COMPILE", "CROSS_COMPILE_COMPAT", "LLVM", "LLVM_IAS",
	"CC", "HOSTCC", "HOSTCXX", "LD", "HOSTLD", "AR", "NM", "OBJCOPY", "OBJDUMP", "STRIP", "PAHOLE",
	"CFLAGS", "CPPFLAGS", "LDFLAGS", "HOSTCFLAGS", "HOSTCXXFLAGS", "HOSTLDFLAGS", "HOSTLDLIBS", "USERCFLAGS", "USERLDFLAGS",
	"KCFLAGS", "KAFLAGS", "KCPPFLAGS", "KRUSTFLAGS", "CFLAGS_KERNEL", "AFLAGS_KERNEL", "CFLAGS_MODULE", "AFLAGS_MODULE", "LDFLAGS_MODULE",
	"KBUILD_OUTPUT", "KBUILD_VERBOSE", "KBUILD_EXTMOD", "KBUILD_EXTRA_WARN", "KBUILD_DEFCONFIG", "KBUILD_KCONFIG", "KBUILD_ABS_SRCTREE",
	"KBUILD_MODPOST_WARN", "KBUILD_SIGN_PIN", "KCONFIG_CONFIG", "KCONFIG_ALLCONFIG", "KCONFIG_SEED", "KCONFIG_PROBABILITY", "KCONFIG_DEFCONFIG_LIST",
	"INSTALL_MOD_PATH", "INSTALL_PATH", "INSTALL_MOD_STRIP", "INSTALL_MOD_DIR",
	"LOCALVERSION", "SOURCE_DATE_EPOCH", "O", "V", "W", "C", "M",
	"CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES",
}

// date is when all kernels were built.
const date = "Sat Jan  1 00:00:00 UTC 2000"

// fixed makes the build the same for everybody. LOCALVERSION is set, and to
// nothing: where it is not, the state of a git repository around the source
// would be in the version.
var fixed = []string{
	"LC_ALL=C", "TZ=UTC",
	"KBUILD_BUILD_TIMESTAMP=" + date, "KBUILD_BUILD_USER=spindle", "KBUILD_BUILD_HOST=spindle",
	"LOCALVERSION=", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
}
