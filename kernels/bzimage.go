package kernels

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
)

// bzImage is a compressed kernel as the boot protocol has it
// (Documentation/arch/x86/boot.rst).
type bzImage struct {
	data    []byte
	version string // uname -r
	payload []byte // the compressed vmlinux, with its size behind; nil before protocol 2.08
}

// Offsets into the header.
const (
	setupSectors  = 0x1f1 // uint8: sectors of 512 bytes after the first; 0 means 4
	bootFlag      = 0x1fe // uint16: 0xaa55
	headerMagic   = 0x202 // "HdrS"
	protocol      = 0x206 // uint16
	versionOffset = 0x20e // uint16: the version's string less 0x200
	payloadOffset = 0x248 // uint32: from the end of the setup sectors
	payloadLength = 0x24c // uint32
	headerEnd     = 0x250
)

// parseImage reads the header of a bzImage. It keeps data.
func parseImage(data []byte) (*bzImage, error) {
	if len(data) < headerEnd || string(data[headerMagic:headerMagic+4]) != "HdrS" || binary.LittleEndian.Uint16(data[bootFlag:]) != 0xaa55 {
		if len(data) > 4 && string(data[:4]) == "\x7fELF" {
			return nil, errors.New("is an ELF file, not a bzImage: give arch/x86/boot/bzImage of the same build")
		}
		return nil, errors.New("is not a bzImage for x86: make bzImage builds one as arch/x86/boot/bzImage")
	}
	image := &bzImage{data: data}
	at := int(binary.LittleEndian.Uint16(data[versionOffset:]))
	if at == 0 || at+0x200 >= len(data) {
		return nil, errors.New("the bzImage does not say its version")
	}
	text := data[at+0x200 : min(len(data), at+0x200+256)]
	image.version, _, _ = strings.Cut(string(text), "\x00")
	image.version, _, _ = strings.Cut(image.version, " ")
	if image.version == "" || strings.ContainsFunc(image.version, oddInVersion) || strings.Trim(image.version, ".") == "" {
		return nil, fmt.Errorf("the bzImage says that its version is %q", image.version)
	}
	if binary.LittleEndian.Uint16(data[protocol:]) < 0x208 {
		return image, nil
	}
	sectors := int64(data[setupSectors])
	if sectors == 0 {
		sectors = 4
	}
	start := (sectors+1)*512 + int64(binary.LittleEndian.Uint32(data[payloadOffset:]))
	end := start + int64(binary.LittleEndian.Uint32(data[payloadLength:]))
	if end > int64(len(data)) {
		return nil, fmt.Errorf("the bzImage is cut short: it has %d of %d bytes", len(data), end)
	}
	image.payload = data[start:end]
	return image, nil
}

// oddInVersion tells characters that no version has; it becomes the name of a
// directory.
func oddInVersion(r rune) bool {
	return r <= ' ' || r > '~' || r == '/' || r == os.PathSeparator
}
