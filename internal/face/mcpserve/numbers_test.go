package mcpserve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// line returns the next message as written.
func (w *wire) line() string {
	w.t.Helper()
	late := time.AfterFunc(testproc.Patience, func() { _ = w.end() })
	line, err := w.out.ReadString('\n')
	require.True(w.t, late.Stop(), "nothing comes")
	require.NoError(w.t, err)
	return line
}

var idMember = regexp.MustCompile(`"id":([^,}]*)`)

func TestIDsOverStdioComeBackAsTheyWereWritten(t *testing.T) {
	w := dial(t, newHost(t, host.Options{}, echoTool()))
	w.initialize("2025-06-18")
	for _, id := range []string{"5", "9007199254740993", "18446744073709551615", "1.5", "1e3", `"9007199254740993"`} {
		w.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
		assert.Equal(t, id, idMember.FindStringSubmatch(w.line())[1])
		w.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"no/such"}`)
		line := w.line()
		assert.Equal(t, id, idMember.FindStringSubmatch(line)[1], line)
		assert.Contains(t, line, `"error"`)
	}
}

// If the ids of two calls are the same float64, the right one is cancelled.
func TestTheCallThatIsMeantIsCancelled(t *testing.T) {
	began, ended := make(chan string, 2), make(chan string, 2)
	wait := newTool("wait", tool.ReadOnly,
		func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
			began <- string(c.Params)
			<-ctx.Done()
			ended <- string(c.Params)
			return nil, ctx.Err()
		})
	wait.def.Parameters = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	w := dial(t, newHost(t, host.Options{}, wait))
	w.initialize("2025-06-18")
	for i, id := range []string{"9007199254740992", "9007199254740993"} {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"wait","arguments":{"n":%d}}}`, id, i))
		assert.Equal(t, fmt.Sprintf(`{"n":%d}`, i), testproc.Receive(t, began))
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9007199254740993}}`)
	assert.Equal(t, `{"n":1}`, testproc.Receive(t, ended))
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9007199254740992}}`)
	assert.Equal(t, `{"n":0}`, testproc.Receive(t, ended))
}

const longToken = `"_meta":{"progressToken":1764279999123456789}`

func reporting(t *testing.T) *host.Host {
	return newHost(t, host.Options{}, newTool("work", tool.ReadOnly,
		func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
			c.Progress(ctx, tool.Progress{Done: 1, Total: 2, Message: "half"})
			return tool.Text("done"), nil
		}))
}

func TestProgressTokensComeBackAsTheyWereWritten(t *testing.T) {
	w := dial(t, reporting(t))
	w.initialize("2025-06-18")
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","arguments":{},` + longToken + `}}`)
	assert.Contains(t, w.line(), `"progressToken":1764279999123456789,`)
	assert.Contains(t, w.line(), "done")

	web := serveWeb(t, reporting(t), mcpserve.HTTPOptions{})
	headers := web.open("2025-06-18")
	response := web.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","arguments":{},`+longToken+`}}`,
		headers...)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Contains(t, string(body), `"progressToken":1764279999123456789,`)
}

func TestIDsOverHTTPThatWouldChangeAreRefused(t *testing.T) {
	w := serveWeb(t, newHost(t, host.Options{}, echoTool()), mcpserve.HTTPOptions{})
	headers := w.open("2025-06-18")
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9007199254740993}}`,
	} {
		response := w.post(message, headers...)
		assert.Equal(t, http.StatusBadRequest, response.StatusCode)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		assert.Contains(t, string(body), "below 2^53")
		if id := idMember.FindStringSubmatch(message); id != nil {
			assert.Equal(t, id[1], idMember.FindStringSubmatch(string(body))[1])
		}
	}
	assert.Equal(t, http.StatusOK, w.post(`{"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}`, headers...).StatusCode)
}

// A user's number is unchanged, or refused.
func TestNumbersOfAnswers(t *testing.T) {
	asking := func() *host.Host {
		return newHost(t, host.Options{}, newTool("order", tool.ReadOnly,
			func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
				a, err := c.Ask(ctx, "k", tool.Form{Message: "How many?",
					Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)})
				return tool.Text(string(a.Content)), err
			}))
	}
	for number, kept := range map[string]bool{"12": true, "9007199254740993": false} {
		content := `{"action":"accept","content":{"n":` + number + `}}`
		w := serveWeb(t, asking(), mcpserve.HTTPOptions{})
		q, key := w.ask("order", `{}`)
		told := fmt.Sprint(w.reply("order", `{}`, key, q.RequestState, content))
		assert.Equal(t, kept, regexp.MustCompile(`n":`+number).MatchString(told), told)
		assert.Equal(t, !kept, regexp.MustCompile(`more digits than are kept`).MatchString(told), told)

		l := dial(t, asking())
		l.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
			`"capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`)
		l.receive()
		l.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		l.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order","arguments":{}}}`)
		id := idMember.FindStringSubmatch(l.line())[1]
		l.send(`{"jsonrpc":"2.0","id":` + id + `,"result":` + content + `}`)
		told = l.line()
		assert.Equal(t, kept, regexp.MustCompile(`n\\":`+number).MatchString(told), told)
		assert.Equal(t, !kept, regexp.MustCompile(`more digits than are kept`).MatchString(told), told)
	}
}
