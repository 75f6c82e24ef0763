package nbd

// Numbers of the protocol, in network byte order on the wire.
const (
	magicGreeting = 0x4e42444d41474943 // "NBDMAGIC"
	magicOption   = 0x49484156454f5054 // "IHAVEOPT"
	magicReplyOpt = 0x0003e889045565a9
	magicRequest  = 0x25609513
	magicReply    = 0x67446698
)

// Handshake flags of both sides.
const (
	flagFixedNewstyle = 1 << 0
	flagNoZeroes      = 1 << 1
)

// Options of the handshake.
const (
	optExportName = 1
	optAbort      = 2
	optList       = 3
	optInfo       = 6
	optGo         = 7
)

// Replies to options.
const (
	repAck        = 1
	repServer     = 2
	repInfo       = 3
	repErrUnsup   = 1<<31 + 1
	repErrInvalid = 1<<31 + 3
	repErrUnknown = 1<<31 + 6
	repErrTooBig  = 1<<31 + 9
)

// Kinds of information in repInfo.
const (
	infoExport    = 0
	infoName      = 1
	infoBlockSize = 3
)

// Transmission flags: what the export can do.
const (
	sendHasFlags     = 1 << 0
	sendReadOnly     = 1 << 1
	sendFlush        = 1 << 2
	sendFUA          = 1 << 3
	sendRotational   = 1 << 4
	sendTrim         = 1 << 5
	sendWriteZeroes  = 1 << 6
	sendCanMultiConn = 1 << 8
)

// Commands and their flags.
const (
	cmdRead        = 0
	cmdWrite       = 1
	cmdDisc        = 2
	cmdFlush       = 3
	cmdTrim        = 4
	cmdWriteZeroes = 6

	cmdFlagFUA    = 1 << 0
	cmdFlagNoHole = 1 << 1
)

const (
	requestLen = 28
	replyLen   = 16
)
