// Package trace takes what the kernel traced out of its ring buffer, packs it as
// a trace.dat for trace-cmd(1) and KernelShark, and works out of it what
// writeback did: how long tasks were held in balance_dirty_pages, how many pages
// a flusher wrote in one go, how deep the queue was that the drive saw.
//
// Sources: Documentation/trace/ftrace.rst for the files, ring-buffer-design.rst
// and include/linux/ring_buffer.h for the pages, trace-cmd.dat.v6(5) for the
// packed form.
//
// It promises the buffer byte for byte as the kernel gave it, the number of
// events that it had no room for, and stamps on CLOCK_MONOTONIC, as all counters
// of a sample have. It reads the pages of a little-endian machine of 64 bits
// only. Text is made by trace-cmd report from the packed form, not here.
package trace
