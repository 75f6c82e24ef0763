package series

import (
	"bytes"
	"io"
	"mime"
	"net/mail"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
)

// letter is what a reply needs of a mail.
type letter struct {
	Subject    string
	From       string
	To, Cc     []string // as written, one address each where they could be told apart
	MessageID  string   // with its angle brackets
	References []string
}

// fromLine is what stands between the mails of an mbox. Git writes a commit's
// hash there, others an address; the time has colons and a year.
var fromLine = regexp.MustCompile(`(?m)^From \S+.*\d\d:\d\d:\d\d.*\d{4}\r?\n`)

// letters reads the headers of all mails in an mbox. What is no mail is left
// out: patches themselves are read by package tree, and a reply can do without
// headers.
func letters(mbox []byte) []letter {
	var out []letter
	starts := fromLine.FindAllIndex(mbox, -1)
	if len(starts) == 0 || starts[0][0] > 0 {
		starts = slices.Insert(starts, 0, []int{0, 0})
	}
	for i, s := range starts {
		end := len(mbox)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		if l, ok := readLetter(mbox[s[1]:end]); ok {
			out = append(out, l)
		}
	}
	return out
}

// readLetter reads the headers of one mail.
func readLetter(text []byte) (letter, bool) {
	if m := fromLine.FindIndex(text); m != nil && m[0] == 0 {
		text = text[m[1]:]
	}
	m, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		return letter{}, false
	}
	l := letter{
		Subject: decodeHeader(m.Header.Get("Subject")), From: decodeHeader(m.Header.Get("From")),
		References: messageIDs(m.Header.Get("References")),
	}
	if ids := messageIDs(m.Header.Get("Message-Id")); len(ids) > 0 {
		l.MessageID = ids[0]
	}
	l.To, l.Cc = addresses(m.Header["To"]), addresses(m.Header["Cc"])
	return l, l.Subject != ""
}

var messageID = regexp.MustCompile(`<[^<>\s]+@[^<>\s]+>`)

func messageIDs(s string) []string { return messageID.FindAllString(s, -1) }

// decodeHeader gives a header as one line of text.
func decodeHeader(s string) string {
	d := mime.WordDecoder{CharsetReader: charset}
	if t, err := d.DecodeHeader(s); err == nil {
		s = t
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
}

// charset reads the old encodings that mails still come in.
func charset(name string, r io.Reader) (io.Reader, error) {
	e, err := htmlindex.Get(name)
	if err != nil {
		return nil, err
	}
	return e.NewDecoder().Reader(r), nil
}

// addresses takes headers apart, or gives them whole where they are no list of
// addresses.
func addresses(headers []string) []string {
	var out []string
	for _, h := range headers {
		list, err := (&mail.AddressParser{WordDecoder: &mime.WordDecoder{CharsetReader: charset}}).ParseList(h)
		if err != nil {
			if one := decodeHeader(h); one != "" {
				out = append(out, one)
			}
			continue
		}
		for _, a := range list {
			if a.Name == "" {
				out = append(out, a.Address)
			} else {
				out = append(out, decodeHeader(a.Name)+" <"+a.Address+">")
			}
		}
	}
	return out
}

// coverMark is how a cover letter's subject is numbered: [PATCH v2 0/5].
var coverMark = regexp.MustCompile(`^\s*\[[^\]]*\b0+/\d+\s*\]`)

// cover finds the cover letter.
func cover(ls []letter) (letter, bool) {
	i := slices.IndexFunc(ls, func(l letter) bool { return coverMark.MatchString(l.Subject) })
	if i < 0 {
		return letter{}, false
	}
	return ls[i], true
}

// brackets are what git send-email and others put before a patch's subject.
var brackets = regexp.MustCompile(`^(\s*(\[[^\]]*\]|[Rr][Ee]:))+\s*`)

// bare gives a subject without brackets.
func bare(subject string) string {
	if s := brackets.ReplaceAllString(subject, ""); s != "" {
		return s
	}
	return subject
}
