package fleet_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/hub"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
)

// store makes a hub's keys, with a second operator.
func store(t *testing.T) (dir string, keys *hub.Keys) {
	t.Helper()
	dir = t.TempDir()
	keys, err := hub.OpenKeys(dir)
	require.NoError(t, err)
	_, err = keys.Add("eve", hub.RoleOperator)
	require.NoError(t, err)
	return dir, keys
}

func signer(t *testing.T, keys *hub.Keys, name string) *fleet.Signer {
	t.Helper()
	s, err := fleet.ReadSigner(keys.SeedFile(name, hub.RoleOperator), name)
	require.NoError(t, err)
	return s
}

// A message counts only if an operator known to the hub's authority has signed it,
// in its own name, for this run of a worker.
func TestSignedDecisions(t *testing.T) {
	dir, keys := store(t)
	authority, err := fleet.ReadAuthority(keys.SeedFile(hub.RoleWorker, hub.RoleWorker))
	require.NoError(t, err)
	_, others := store(t)
	w := fleet.NewWorker("rack", "one")
	d := fleet.Decide{Action: fleet.DecideApprove, ID: "x", Session: "s", Call: "c", Shown: "d", Reason: "\xff"}
	sign := func(s *fleet.Signer, w fleet.Worker) (signed fleet.Signed) {
		message, err := s.Sign(w, d)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(message, &signed))
		return signed
	}
	good, eves := sign(signer(t, keys, hub.RoleOperator), w), sign(signer(t, keys, "eve"), w)
	opened, err := fleet.OpenSigned(tool.MustMarshal(good), authority, hub.RoleOperator, w)
	require.NoError(t, err)
	assert.Equal(t, fleet.Decide{Action: d.Action, Worker: w, Operator: hub.RoleOperator, ID: "x", Session: "s", Call: "c",
		Shown: "d", Reason: "\ufffd"}, opened)
	_, err = fleet.OpenSigned(tool.MustMarshal(eves), authority, "eve", w)
	require.NoError(t, err)

	data, err := os.ReadFile(keys.SeedFile(hub.RoleOperator, hub.RoleOperator))
	require.NoError(t, err)
	seed, line := fleet.KeyLines(data)
	assert.NotContains(t, line, string(seed))
	pair, err := nkeys.FromSeed(seed)
	require.NoError(t, err)
	secret, err := os.ReadFile(filepath.Join(dir, "authority.secret"))
	require.NoError(t, err)
	assert.NotContains(t, string(data), strings.TrimSpace(string(secret)))

	for name, forge := range map[string]func(*fleet.Signed){
		"nothing is signed":            func(s *fleet.Signed) { *s = fleet.Signed{Decide: s.Decide} },
		"another decision":             func(s *fleet.Signed) { s.Decide = []byte(strings.Replace(string(s.Decide), `"c"`, `"b"`, 1)) },
		"another signature":            func(s *fleet.Signed) { s.Signature = eves.Signature },
		"the key of another operator":  func(s *fleet.Signed) { s.Key, s.Signature = eves.Key, eves.Signature },
		"another operator, in my name": func(s *fleet.Signed) { *s = eves },
		"another's certificate":        func(s *fleet.Signed) { s.Certificate = eves.Certificate },
		"an operator of another hub":   func(s *fleet.Signed) { *s = sign(signer(t, others, hub.RoleOperator), w) },
		"for another run of the worker": func(s *fleet.Signed) {
			*s = sign(signer(t, keys, hub.RoleOperator), fleet.NewWorker("rack", "two"))
		},
		"by the key that answers a hub when it connects": func(s *fleet.Signed) {
			s.Key, err = pair.PublicKey()
			require.NoError(t, err)
			s.Signature, err = pair.Sign(append([]byte("toolhost decide\x00"), s.Decide...))
			require.NoError(t, err)
		},
	} {
		forged := good
		forge(&forged)
		d, err := fleet.OpenSigned(tool.MustMarshal(forged), authority, hub.RoleOperator, w)
		require.Error(t, err, name)
		assert.Equal(t, fleet.Decide{ID: "x"}, d, name)
	}
	for _, none := range []string{"", hub.RoleOperator} { // without the authority no operator is known
		_, err = fleet.OpenSigned(tool.MustMarshal(good), none, hub.RoleOperator, w)
		require.Error(t, err)
	}
	_, err = fleet.OpenSigned([]byte("{"), authority, hub.RoleOperator, w)
	require.Error(t, err)
}

// Key files name the authority, older ones too once the hub's keys are read in a
// writable store. For an older copy, the error says to copy it again.
func TestKeysNameTheAuthority(t *testing.T) {
	dir, keys := store(t)
	file := keys.SeedFile("eve", hub.RoleOperator)
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	seed, line := fleet.KeyLines(before)
	require.NoError(t, os.WriteFile(file, append(seed, '\n'), 0o600))
	_, err = fleet.ReadSigner(file, "eve")
	require.ErrorContains(t, err, "does not name the authority")
	_, err = hub.OpenKeys(dir)
	require.NoError(t, err)
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
	_, err = hub.OpenKeys(dir)
	require.NoError(t, err)
	again, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(again), "one line is enough")

	_, err = fleet.ReadSigner(file, "adam")
	require.ErrorContains(t, err, "is not that of the operator adam")
	require.NoError(t, os.Remove(filepath.Join(dir, "authority.secret"))) // a new authority
	_, err = hub.OpenKeys(dir)
	require.NoError(t, err)
	renewed, err := os.ReadFile(file)
	require.NoError(t, err)
	_, last := fleet.KeyLines(renewed)
	assert.NotEqual(t, line, last)
	_, err = fleet.ReadSigner(file, "eve")
	require.NoError(t, err)
	gateway, err := os.ReadFile(keys.SeedFile(hub.RoleGateway, hub.RoleGateway))
	require.NoError(t, err)
	_, line = fleet.KeyLines(gateway)
	assert.Empty(t, line)
	assert.Len(t, keys.List(), 4, "an authority is no key that opens the hub")
}

// What is shown has the same digest at both ends.
func TestShownDigest(t *testing.T) {
	question := show.Question{Tool: "t", Effect: "a\xffb <&>\u2028", Argv: []string{}, Params: []show.Param{{Name: "none"},
		{Name: "spaced", Value: json.RawMessage(` { "a" : 1.0 } `)}, {Name: "text", Value: json.RawMessage(`"\u00e4\/"`)}}}
	digest := fleet.ShownDigest("call", question)
	var sent show.Question
	require.NoError(t, json.Unmarshal(tool.MustMarshal(question), &sent))
	assert.Equal(t, digest, fleet.ShownDigest("call", sent))
	assert.NotEqual(t, digest, fleet.ShownDigest("other", sent))
	sent.Effect = "another"
	assert.NotEqual(t, digest, fleet.ShownDigest("call", sent))
}
