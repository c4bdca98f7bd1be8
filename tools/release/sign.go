package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"
)

const (
	sumsFile      = "SHA256SUMS"
	signatureFile = sumsFile + ".minisig"
	throwawayFile = "THROWAWAY-KEY.pub"
)

// provesNothing is printed for a release whose key was made for it alone.
const provesNothing = "THIS KEY IS A THROWAWAY KEY, MADE FOR THIS RELEASE ALONE: IT PROVES NOTHING ABOUT WHO MADE THESE FILES."

// madeForItself reports whether a release was signed with a throwaway key.
func madeForItself(dir string, public minisign.PublicKey) bool {
	throwaway, err := publicKey(filepath.Join(dir, throwawayFile))
	return err == nil && throwaway.Equal(public)
}

type keyOptions struct {
	file            string
	throwaway, none bool
}

func (k keyOptions) check() error {
	chosen := 0
	for _, yes := range []bool{k.file != "", k.throwaway, k.none} {
		if yes {
			chosen++
		}
	}
	if chosen != 1 {
		return errors.New("say how to sign: --key FILE, or --throwaway-key for a test, or --unsigned")
	}
	if k.file != "" {
		_, err := secretKey(k.file) // a wrong password fails before the build
		return err
	}
	return nil
}

// secret returns the key, and for a throwaway one the file with its public half.
func (k keyOptions) secret(dist string) (minisign.PrivateKey, error) {
	if !k.throwaway {
		return secretKey(k.file)
	}
	public, key, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		return key, err
	}
	return key, os.WriteFile(filepath.Join(dist, throwawayFile), []byte(public.String()+"\n"), 0o644)
}

// secretKey reads a minisign key, with a password or without.
func secretKey(file string) (key minisign.PrivateKey, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return key, err
	}
	if !minisign.IsEncrypted(text) {
		err = key.UnmarshalText(text)
	} else if key, err = minisign.DecryptKey(os.Getenv("RELEASE_KEY_PASSWORD"), text); err != nil {
		err = fmt.Errorf("is its password in RELEASE_KEY_PASSWORD? %w", err)
	}
	if err != nil {
		return key, fmt.Errorf("the key %s cannot be read: %w", file, err)
	}
	return key, nil
}

// sign signs SHA256SUMS. The comment has no time: one key gives one signature.
func (k keyOptions) sign(dist, version string, progress io.Writer) error {
	if k.none {
		return nil
	}
	key, err := k.secret(dist)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(dist, sumsFile))
	if err != nil {
		return err
	}
	signature := minisign.SignWithComments(key, sums, name+" "+version, "signature of "+sumsFile)
	if err := os.WriteFile(filepath.Join(dist, signatureFile), signature, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(progress, "Signed with key %016X.\n", key.ID())
	if k.throwaway {
		fmt.Fprintln(progress, provesNothing)
	}
	return nil
}

// publicKey parses a key as minisign prints it, or reads a file with one.
func publicKey(text string) (key minisign.PublicKey, err error) {
	if data, err := os.ReadFile(text); err == nil {
		text = string(data)
	}
	if err := key.UnmarshalText([]byte(strings.TrimSpace(text))); err != nil {
		return key, fmt.Errorf("--key is neither minisign's public key nor a file with one: %w", err)
	}
	return key, nil
}

// runKey makes the key that signs all releases, and says where its public half goes.
func runKey(args []string, progress io.Writer) error {
	password := os.Getenv("RELEASE_KEY_PASSWORD")
	if len(args) != 1 || password == "" {
		return errors.New("usage: RELEASE_KEY_PASSWORD=... release key FILE")
	}
	public, secret, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	text, err := minisign.EncryptKey(password, secret)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(text); err != nil {
		_ = file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(args[0]+".pub", []byte(public.String()+"\n"), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(progress, "Wrote %s, which stays with you, and %[1]s.pub. docs/RELEASING.md says where the public key goes:\n%s\n",
		args[0], public)
	return nil
}
