package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/hub"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// certificate makes a self-signed one for this machine, and returns its files.
func (p *place) certificate(name string) (cert, key string) {
	p.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(p.t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	data, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(p.t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(p.t, err)
	return p.write(name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: data}))),
		p.write(name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}

// A hub with TLS accepts clients that know its signer, and with --tls-ca only those
// with a certificate of that signer.
func TestHubWithTLS(t *testing.T) {
	p := newPlace(t)
	cert, key := p.certificate("hub")
	mine, mineKey := p.certificate("client")
	other, otherKey := p.certificate("other")
	for _, ca := range []string{"", mine} {
		o := hub.Options{Listen: "127.0.0.1:0", Store: filepath.Join(p.home, "hub"+filepath.Base(ca)), Cert: cert,
			Key: key, CA: ca}
		ns, err := hub.Start(o)
		require.NoError(t, err)
		link := fleet.Link{URL: strings.Replace(ns.ClientURL(), "nats://", "tls://", 1),
			KeyFile: filepath.Join(o.Store, "keys", "gateway.gateway.nk"), Inbox: "_INBOX.gateway.x"}
		for _, c := range []struct {
			ca, cert, key string
			works         bool
		}{
			{"", "", "", false}, {other, mine, mineKey, false}, {cert, "", "", ca == ""},
			{cert, other, otherKey, ca == ""},
			{cert, mine, mineKey, true},
		} {
			link.CAFile, link.CertFile, link.CertKey = c.ca, c.cert, c.key
			within := time.Nanosecond // one attempt
			if c.works {
				within = waits
			}
			connect := func() (*nats.Conn, error) {
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				return link.Connect(ctx)
			}
			nc, err := connect()
			for tries := 0; !c.works && err != nil && strings.Contains(err.Error(), "timeout") && tries < 10; tries++ {
				nc, err = connect() // a busy machine may be too slow to refuse
			}
			if !c.works {
				// A hub that refuses the client's may have closed before the client reads why.
				require.Error(t, err, "%+v with %q", c, ca)
				require.Regexp(t, `certificate|tls error|EOF|reset|broken pipe`, err.Error(), "%+v with %q", c, ca)
				continue
			}
			require.NoError(t, err, "%+v with %q", c, ca)
			_, err = fleet.MakeStore(t.Context(), nc, 1)
			require.NoError(t, err)
			assert.NoError(t, nc.Publish("x", nil))
			nc.Close()
		}
		ns.Shutdown()
		ns.WaitForShutdown()
	}
}

// A fleet runs on any NATS that knows the keys.
func TestNATSOfOnesOwn(t *testing.T) {
	f := &theFleet{place: newPlace(t)}
	f.write("agent.hcl", notes)
	f.store = filepath.Join(f.home, "hub")
	keys, err := hub.OpenKeys(filepath.Join(f.store, "keys"))
	require.NoError(t, err)
	config := fmt.Sprintf("listen: \"127.0.0.1:-1\"\njetstream { store_dir: %q }\nauthorization { users = [\n",
		filepath.Join(f.home, "nats"))
	for _, key := range keys.List() {
		config += fmt.Sprintf("{ nkey: %s }\n", key.Public)
	}
	options, err := server.ProcessConfigFile(f.write("nats.conf", config+"] }\n"))
	require.NoError(t, err)
	options.NoSigs, options.NoLog = true, true
	ns, err := server.NewServer(options)
	require.NoError(t, err)
	go ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	require.True(t, ns.ReadyForConnections(waits))
	f.hubURL = ns.ClientURL()
	w := f.worker()
	f.url = f.gateway("--config", filepath.Join(f.home, "agent.hcl"))
	w.find("takes sessions")
	f.knows(1)
	s := session(t, f.url)
	assert.Equal(t, "one", strings.TrimSpace(text(callTool(t, s, "note", note("one"), nil))))
}

// A request larger than a hub's message comes in parts; one larger than any request is refused.
func TestOversized(t *testing.T) {
	f := newInside(t, notes, "", plain)
	name := openSession(t, f.url)
	status, _, text := send(t, f.url, "", name, noteMessage(strings.Repeat("x", 1<<16))+strings.Repeat(" ", 3<<20))
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, text, "xxxx")
	huge := noteMessage(strings.Repeat("y", 80<<20))
	answer, err := http.Post(f.url, "application/json", strings.NewReader(huge))
	for tries := 1; err != nil; tries++ { // if it still sends when the gateway hangs up, the answer is lost
		require.Less(t, tries, 10, err)
		answer, err = http.Post(f.url, "application/json", strings.NewReader(huge))
	}
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, http.StatusRequestEntityTooLarge, answer.StatusCode)
	nc, err := f.link(hub.RoleWorker).Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	require.ErrorIs(t, nc.Publish("beat.worker.x", make([]byte, hub.MaxPayload+1)), nats.ErrMaxPayload)
	_, _, text = send(t, f.url, "", name, noteMessage("end"))
	assert.Contains(t, text, `end`)
}

// A call with a protocol error ends no worker, by whatever name.
func TestUnknownTool(t *testing.T) {
	f := newInside(t, notes, "", plain)
	name := openSession(t, f.url)
	for _, meta := range []string{"", `"_meta":{"request_id":"a"},`} {
		_, _, text := send(t, f.url, "", name,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{`+meta+`"name":"missing"}}`)
		assert.Contains(t, text, `"error"`)
	}
	_, _, text := send(t, f.url, "", name, noteMessage("after"))
	assert.Contains(t, text, "after")
}

// liar adds a key for a worker and connects as a misbehaving one.
func (f *inside) liar() (*hub.Keys, *nats.Conn) {
	f.t.Helper()
	keys, err := hub.OpenKeys(filepath.Join(f.options.Store, "keys"))
	require.NoError(f.t, err)
	_, err = keys.Add("liar", hub.RoleWorker)
	require.NoError(f.t, err)
	f.options.Listen = strings.TrimPrefix(f.hub.ClientURL(), "nats://")
	require.NoError(f.t, f.options.Reload(f.hub))
	link := f.link(hub.RoleWorker)
	link.KeyFile, link.Inbox = keys.SeedFile("liar", hub.RoleWorker), "_INBOX.worker.liar.x"
	liar, err := link.Connect(f.t.Context())
	require.NoError(f.t, err)
	f.t.Cleanup(liar.Close)
	return keys, liar
}

// refusedWithin is how long a test waits for what must not come.
const refusedWithin = 2 * time.Second

// A result that a liar stores in advance is not used, neither under its own
// name nor the session's worker's. A liar that claims to be thousands of
// workers counts as a few.
func TestForgedAndFlooding(t *testing.T) {
	f := newInside(t, notes, "", plain)
	_, liar := f.liar()
	name := openSession(t, f.url)
	send(t, f.url, "", name, noteMessage("begin"))
	sessions, err := f.gateway.Sessions(t.Context())
	require.NoError(t, err)
	forged := tool.MustMarshal(fleet.Call{State: fleet.CallDone, Tool: "note",
		Digest: fleet.CallDigest("tools/call", "note", `{"text":"x"}`),
		Result: []byte(`{"content":[{"type":"text","text":"forged"}]}`), At: time.Now()})
	for key, record := range sessions {
		for _, w := range []fleet.Worker{"liar.x", record.Worker} {
			through := fleet.Worker("liar.x").StoreSubject(fleet.AnyGateway) + ".$KV.calls."
			within := refusedWithin
			if w == "liar.x" {
				within = waits
			}
			_, err := liar.Request(through+w.CallKey(key, fleet.NamedCall+"a"), forged, within)
			assert.Equal(t, w == "liar.x", err == nil, "%s: %v", w, err)
		}
	}
	heard := 0
	f.waitFor(func() bool { // a worker is forgotten after a lease
		for i := range 3000 {
			assert.NoError(t, liar.Publish(fmt.Sprint("beat.liar.", i), []byte(`{"draining":true}`)))
		}
		assert.NoError(t, liar.FlushTimeout(waits))
		heard = len(f.gateway.Workers())
		return heard > 1 || t.Failed()
	})
	_, _, text := send(t, f.url, "", name, strings.Replace(noteMessage("x"), `"params":{`,
		`"params":{"_meta":{"request_id":"a"},`, 1))
	assert.Contains(t, text, `begin\nx`)
	assert.NotContains(t, text, "forged")
	calls, err := f.gateway.Calls(t.Context())
	require.NoError(t, err)
	assert.Contains(t, fmt.Sprint(calls), "liar.x", "the liar can store something")
	assert.Greater(t, heard, 1, "the liar is heard")
	assert.Less(t, max(heard, len(f.gateway.Workers())), 300, "but not as thousands")
}

// A pack that leads outside, or was replaced, opens no session; one that matches its name does.
func TestPoisonedPackThroughTheHub(t *testing.T) {
	var names [3]string
	var packs [3][]byte
	for i, entry := range []string{"good.txt", "../escaped.txt", "replaced.txt"} {
		var out bytes.Buffer
		packed := gzip.NewWriter(&out)
		w := tar.NewWriter(packed)
		require.NoError(t, w.WriteHeader(&tar.Header{Name: entry, Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}))
		_, err := w.Write([]byte("text"))
		require.NoError(t, errors.Join(err, w.Close(), packed.Close()))
		sum := sha256.Sum256(out.Bytes())
		names[i], packs[i] = hex.EncodeToString(sum[:]), out.Bytes()
	}
	packs[2] = packs[0]
	f := newInside(t, notes, "", plain)
	nc, err := f.link(hub.RoleGateway).Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	store, err := fleet.MakeStore(t.Context(), nc, 1)
	require.NoError(t, err)
	kept, err := store.Packs(t.Context(), "default")
	require.NoError(t, err)
	for i, says := range []string{"good.txt", "not below the workspace", "not those of its name"} {
		session := openSession(t, f.url)
		key := f.session()
		require.NoError(t, f.gateway.Steer(t.Context(), "move", key))
		f.waitFor(f.left(key))
		entry, err := store.Sessions.Get(t.Context(), key)
		require.NoError(t, err)
		var record fleet.Record
		require.NoError(t, json.Unmarshal(entry.Value(), &record))
		record.Pack = names[i]
		_, err = store.Sessions.Update(t.Context(), key, tool.MustMarshal(record), entry.Revision())
		require.NoError(t, err)
		_, err = kept.PutBytes(t.Context(), key+"/"+names[i], packs[i])
		require.NoError(t, err)
		_, _, text := send(t, f.url, "", session, noteMessage("x"))
		if i == 0 {
			assert.FileExists(t, filepath.Join(f.workspaces()[0], says))
		} else {
			assert.Contains(t, text, says)
		}
		f.end("", session)
		require.NoError(t, store.Sessions.Purge(t.Context(), key))
	}
	escaped, err := filepath.Glob(filepath.Join(f.home, "worker*", "sessions", "*", "escaped.txt"))
	require.NoError(t, err)
	assert.Empty(t, escaped)
}

// Lies: a worker's beat for another, an answer to a call that it was not asked for,
// and unreadable messages.
func TestLyingWorker(t *testing.T) {
	f := newInside(t, holds, "", plain)
	keys, liar := f.liar()

	name := openSession(t, f.url)
	ended := make(chan string)
	go func() {
		_, _, text := send(t, f.url, "", name, holdMessage("go"))
		ended <- text
	}()
	f.waitFor(f.running(1))
	sessions, err := f.gateway.Sessions(t.Context())
	require.NoError(t, err)
	require.Len(t, sessions, 1)
	for key, record := range sessions {
		for _, body := range []string{
			fmt.Sprintf(`{"session":%q,"epoch":%d,"release":true}`, key, record.Epoch),
			fmt.Sprintf(`{"session":%q,"epoch":%d,"pack":"forged"}`, key, record.Epoch),
			fmt.Sprintf(`{"owned":{%q:%d}}`, key, record.Epoch), "{", `{"owned":{"a.>":1}}`,
		} {
			answer, err := liar.Request("ask.liar.x", []byte(body), 10*time.Second)
			if err == nil {
				assert.NotContains(t, string(answer.Data), key)
			}
		}
		for _, to := range []string{string(record.Worker), "liar.x"} {
			forged := []byte(`{"seq":0,"status":200,"data":"Zm9yZ2Vk","end":true}`)
			_ = liar.Publish("back."+f.gateway.Name()+"."+to+".x", forged)
			_ = liar.Publish("beat."+to, []byte(`{"slots":-1,"draining":true}`))
		}
		require.NoError(t, liar.Flush())
		after, err := f.gateway.Sessions(t.Context())
		require.NoError(t, err)
		assert.Equal(t, record, after[key], "the liar has changed the session")
	}
	f.release("go")
	text := testproc.Receive(t, ended, "the answer")
	assert.Contains(t, text, "held")
	assert.NotContains(t, text, "forged")
	require.NoError(t, keys.Revoke("liar", hub.RoleWorker))
	require.NoError(t, f.options.Reload(f.hub))
	f.waitFor(func() bool { return !liar.IsConnected() })
	_, _, text = send(t, f.url, "", name, holdMessage("go"))
	assert.Contains(t, text, "held")
}
