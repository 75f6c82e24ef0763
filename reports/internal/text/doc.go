// Package text lays out Markdown that reads well unrendered in a mail: no
// line is wider than [Width] columns, whatever the words are.
//
// Text that comes from outside (names of a plan, a guest's console) goes
// through [Clean] first, so that it cannot break a line, a table or the
// markup. A column is one code point: names in scripts with wide characters
// come out wider.
package text

// Width is the widest line, in columns. Mail on the kernel's lists is wrapped
// here, so that it survives being quoted.
const Width = 72

// NBSP is a space that [Wrap] does not break at and gives back as a plain
// one: "15\u00a0%" stays together.
const NBSP = "\u00a0"
