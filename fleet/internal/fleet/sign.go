package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/nats-io/nkeys"

	"github.com/toolhost/toolhost/host/tool"
)

// The hub's authority is a key that signs for operators. A worker's key file names it, in a line
// below the seed, and so does an operator's, with the authority's signature. An operator signs its
// requests to workers, so that sending through the hub's store is not enough to impersonate one.

// authorityLine starts the line: "hub: AUTHORITY SIGNATURE".
const authorityLine = "hub: "

// What is signed starts with one of these.
const (
	signsOperator = "toolhost operator\x00"
	signsDecide   = "toolhost decide\x00"
)

// Signed is a Decide with the signature of an operator.
type Signed struct {
	Decide []byte `json:"decide"`
	// Key is the signing key, Certificate the authority's signature for it.
	Key         string `json:"key"`
	Certificate []byte `json:"certificate"`
	Signature   []byte `json:"signature"`
}

// Signer is an operator's.
type Signer struct {
	name        string
	key         nkeys.KeyPair
	public      string
	certificate []byte
}

// signingKey returns the signing key for an operator's seed; not the seed's own, which signs what
// a hub sends at connecting.
func signingKey(seed []byte) (nkeys.KeyPair, string, error) {
	_, raw, err := nkeys.DecodeSeed(seed)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(append([]byte(signsDecide), raw...))
	key, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, sum[:])
	if err != nil {
		return nil, "", err
	}
	public, err := key.PublicKey()
	return key, public, err
}

func certified(name, public string) []byte { return []byte(signsOperator + name + "\x00" + public) }

// AuthorityLine returns an authority's line for a key file: of the named operator, or of a worker
// for "".
func AuthorityLine(authority nkeys.KeyPair, operator string, seed []byte) (string, error) {
	public, err := authority.PublicKey()
	if err != nil || operator == "" {
		return authorityLine + public, err
	}
	_, signs, err := signingKey(seed)
	if err != nil {
		return "", err
	}
	signature, err := authority.Sign(certified(operator, signs))
	return authorityLine + public + " " + base64.RawURLEncoding.EncodeToString(signature), err
}

// KeyLines returns a key file's seed, and the last line that names an authority.
func KeyLines(data []byte) (seed []byte, authority string) {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if bytes.HasPrefix(line, []byte(authorityLine)) {
			authority = string(line)
		} else if seed == nil && bytes.HasPrefix(line, []byte("SU")) {
			seed = line
		}
	}
	return seed, authority
}

func readKey(file string) (seed []byte, authority string, certificate []byte, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, "", nil, err
	}
	seed, line := KeyLines(data)
	fields := strings.Fields(line)
	if len(fields) < 2 || !nkeys.IsValidPublicOperatorKey(fields[1]) {
		return nil, "", nil, tool.Errorf(tool.Denied,
			"the key %s does not name the authority of its hub", file).
			Suggest("The key is from an older version. Run toolhost fleet keys on the hub's machine, and copy the key again.")
	}
	if len(fields) > 2 {
		certificate, err = base64.RawURLEncoding.DecodeString(fields[2])
	}
	return seed, fields[1], certificate, err
}

// ReadAuthority returns the authority in a worker's key file.
func ReadAuthority(file string) (string, error) {
	_, authority, _, err := readKey(file)
	return authority, err
}

// ReadSigner returns the signer of an operator's key file.
func ReadSigner(file, name string) (*Signer, error) {
	seed, authority, certificate, err := readKey(file)
	if err != nil {
		return nil, err
	}
	s := &Signer{name: name, certificate: certificate}
	if s.key, s.public, err = signingKey(seed); err == nil {
		err = verify(authority, certified(name, s.public), certificate)
	}
	if err != nil {
		return nil, fmt.Errorf("the key %s is not that of the operator %s: %w. Keep the name that the hub gave it", file, name,
			err)
	}
	return s, nil
}

func verify(public string, text, signature []byte) error {
	key, err := nkeys.FromPublicKey(public)
	if err != nil {
		return err
	}
	return key.Verify(text, signature)
}

// Sign returns the signer's message to a worker.
func (s *Signer) Sign(w Worker, d Decide) ([]byte, error) {
	d.Worker, d.Operator = w, s.name
	said := tool.MustMarshal(d)
	signature, err := s.key.Sign(append([]byte(signsDecide), said...))
	return tool.MustMarshal(Signed{Decide: said, Key: s.public, Certificate: s.certificate, Signature: signature}), err
}

// OpenSigned returns what the named operator, known to the authority, has asked of this run of a
// worker. On an error only the ID is set, for the refusal.
func OpenSigned(data []byte, authority, operator string, w Worker) (d Decide, err error) {
	var s Signed
	if err := json.Unmarshal(data, &s); err != nil {
		return d, err
	}
	if err := json.Unmarshal(s.Decide, &d); err != nil {
		return d, err
	}
	err = verify(authority, certified(operator, s.Key), s.Certificate)
	if err == nil {
		err = verify(s.Key, append([]byte(signsDecide), s.Decide...), s.Signature)
	}
	if err == nil && (d.Worker != w || d.Operator != operator) {
		err = nkeys.ErrInvalidSignature
	}
	if err != nil {
		return Decide{ID: d.ID}, tool.Errorf(tool.Denied, "it is not signed by an operator %s whom the hub's authority knows",
			operator).Suggest("Copy the keys of the operator and of the worker %s again from the hub's data directory.", w)
	}
	return d, nil
}
