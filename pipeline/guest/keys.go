package guest

import (
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"
)

// Keys are the two key pairs of one guest. The guest gets HostKey and
// Authorized; nobody else ever sees the other halves.
type Keys struct {
	HostKey    []byte        // the guest's private key, in OpenSSH's PEM form
	Authorized []byte        // a line of authorized_keys
	Signer     ssh.Signer    // what we log in with
	HostPublic ssh.PublicKey // what the guest must prove to be
}

// NewKeys makes fresh ed25519 keys from random. Made on the host, they cost
// the guest no time and no entropy at boot.
func NewKeys(random io.Reader) (Keys, error) {
	hostPublic, hostPrivate, err := generate(random)
	if err != nil {
		return Keys{}, fmt.Errorf("make the guest's host key: %w", err)
	}
	public, private, err := generate(random)
	if err != nil {
		return Keys{}, fmt.Errorf("make the guest's login key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(hostPrivate, "")
	if err != nil {
		return Keys{}, fmt.Errorf("make the guest's host key: %w", err)
	}
	signer, err := ssh.NewSignerFromSigner(private)
	if err != nil {
		return Keys{}, fmt.Errorf("make the guest's login key: %w", err)
	}
	return Keys{
		HostKey:    pem.EncodeToMemory(block),
		Authorized: ssh.MarshalAuthorizedKey(public),
		Signer:     signer,
		HostPublic: hostPublic,
	}, nil
}

// generate makes a pair from 32 bytes of random. The seed is read here because
// ed25519.GenerateKey no longer promises to use the reader it is given.
func generate(random io.Reader) (ssh.PublicKey, ed25519.PrivateKey, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return nil, nil, err
	}
	private := ed25519.NewKeyFromSeed(seed)
	public, err := ssh.NewPublicKey(private.Public())
	return public, private, err
}
