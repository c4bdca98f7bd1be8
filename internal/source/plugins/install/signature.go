package install

import (
	"os"
	"strings"

	"aead.dev/minisign"

	"github.com/toolhost/toolhost/host/tool"
)

// Signature describes an author's signature.
type Signature struct {
	// State is "verified", "not verified" for a signature without a given key, or "none".
	State string `json:"state"`
	// Key is the public key used for verification.
	Key string `json:"key,omitempty"`
	// Comment is the trusted comment of a verified signature.
	Comment string `json:"comment,omitempty"`
}

// The states of a signature.
const (
	Verified    = "verified"
	NotVerified = "not verified"
	Unsigned    = "none"
)

// String describes the signature for people.
func (s Signature) String() string {
	switch s.State {
	case Verified:
		return "signature verified with key " + s.Key
	case NotVerified:
		return "signed, and not verified: no key was given"
	}
	return "not signed"
}

// ParseKey parses a minisign public key, or reads it from a file.
func ParseKey(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if data, err := os.ReadFile(text); err == nil {
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		text = strings.TrimSpace(lines[len(lines)-1])
	}
	var key minisign.PublicKey
	if err := key.UnmarshalText([]byte(text)); err != nil {
		return "", tool.Errorf(tool.InvalidArgument, "this is not a minisign public key: %w", err).
			Suggest("Give the line that begins with RW, or the .pub file.")
	}
	return text, nil
}

// checkSignature verifies data if there is a key. A wrong or missing signature is then an error.
func checkSignature(what string, data, signature []byte, key string) (Signature, error) {
	switch {
	case key == "" && signature == nil:
		return Signature{State: Unsigned}, nil
	case key == "":
		return Signature{State: NotVerified}, nil
	case signature == nil:
		return Signature{}, tool.Errorf(tool.Blocked, "%s is not signed, and has to be with the key %s", what, key).
			Suggest("Ask its author for the .minisig file that belongs beside it.")
	}
	var public minisign.PublicKey
	if err := public.UnmarshalText([]byte(key)); err != nil {
		return Signature{}, err
	}
	var s minisign.Signature
	if err := s.UnmarshalText(signature); err != nil || !minisign.Verify(public, data, signature) {
		return Signature{}, tool.Errorf(tool.Blocked, "the signature of %s is not one of the key %s", what, key).
			Suggest("Do not use it. Ask its author which key signs, and fetch it again.")
	}
	return Signature{State: Verified, Key: key, Comment: s.TrustedComment}, nil
}
