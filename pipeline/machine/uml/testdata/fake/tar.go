package main

import (
	"archive/tar"
	"bytes"
)

// tarball has two files, one in a directory.
var tarball = func() string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range []struct{ name, text string }{{"result.json", "{}\n"}, {"sub/file", "hello\n"}} {
		w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.text))})
		w.Write([]byte(f.text))
	}
	w.Close()
	return b.String()
}()
