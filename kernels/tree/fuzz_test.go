package tree

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzWrap holds what is made of a quilt patch against what a mail must be.
func FuzzWrap(f *testing.F) {
	f.Add("two", "Description: x\nAuthor: Jens <j@example.org>\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
	f.Add("x\nBcc: all", "From: a\n\n\nIndex: x\n")
	f.Add("", "--- a\n+++ b\n")
	f.Fuzz(func(t *testing.T, subject, text string) {
		at := diffStart.FindIndex([]byte(text))
		if at == nil || strings.ContainsAny(subject, "\r\n") {
			return
		}
		m := wrap(subject, []byte(text))
		head, body, ok := bytes.Cut(m, []byte("\n\n"))
		if !ok || !bytes.HasPrefix(head, []byte("From: ")) || bytes.Count(head, []byte("\n")) != 4 {
			t.Errorf("head %q", head)
		}
		if !bytes.HasSuffix(body, []byte(text[at[0]:])) {
			t.Error("the patch is not what it was")
		}
	})
}

// FuzzOrder holds what is sorted against what came in.
func FuzzOrder(f *testing.F) {
	f.Add("[PATCH v2 2/3] b\n[PATCH v2 1/3] a\n[PATCH v2 3/3] c")
	f.Add("[PATCH 1/2] a\n[PATCH v2 2/2] b")
	f.Add("[RFC PATCH 99999999999999999999/1] a\n[1/1] [2/2]")
	f.Fuzz(func(t *testing.T, text string) {
		var mails []Mail
		for _, s := range strings.Split(text, "\n") {
			mails = append(mails, Mail{Subject: s})
		}
		out, err := order("x", mails)
		if err == nil && len(out) != len(mails) {
			t.Errorf("%d mails of %d", len(out), len(mails))
		}
	})
}

// FuzzMails gives foreign bytes to all that reads a series. It runs git, so it is
// slow.
func FuzzMails(f *testing.F) {
	f.Add([]byte("From 0123 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\nSubject: [PATCH 1/1] x\nDate: Mon, 1 Jan 2024 00:00:00 +0000\n\nbody\n---\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"))
	f.Add([]byte("diff --git a/x b/x\n"))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Add([]byte("From \nFrom \n\nFrom x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		env := testEnv(t)
		path := filepath.Join(env.Dir, "mbox")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		mails, err := env.Mails(t.Context(), path)
		if err == nil && len(mails) == 0 {
			t.Error("no mails and no error")
		}
	})
}
