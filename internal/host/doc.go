// Package host tells what this host has and what it lacks for running spindle,
// and what each lack means.
//
// It promises to look only: nothing is installed, loaded or changed, and no
// program is run. A host is described by an [Env], so that it can be another
// directory than /.
//
// What it cannot tell by looking it says so about. Whether KVM works shows only
// when a guest boots; whether a package repository has a package shows only when
// it is installed.
package host
