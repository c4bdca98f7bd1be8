package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// mostKept is how many connections a log has, mostText the size of their text. Further ones are counted.
const (
	mostKept = 1000
	mostText = 100 << 10 // bytes of hosts and reasons, which programs choose
)

const settlePatience = time.Second

// mostExplained is how many hosts an explanation names.
const mostExplained = 10

// Connection is one connection of a process, made or refused.
type Connection struct {
	// Host is the requested name or address. Port is 0 for a name only looked up.
	Host string `json:"host"`
	Port uint16 `json:"port,omitempty"`
	// Address is the address connected to, or "proxy".
	Address string `json:"address,omitempty"`
	// Sent and Received count bytes, from the process's view.
	Sent     int64 `json:"sent,omitempty"`
	Received int64 `json:"received,omitempty"`
	// Seconds is the duration.
	Seconds float64 `json:"seconds,omitempty"`
	// Credential names the one that was added to its requests.
	Credential string `json:"credential,omitempty"`
	// Approved is how a person allowed a connection that was asked about.
	Approved string `json:"approved,omitempty"`
	// Refused is why it was refused, Failed why it could not be made.
	Refused string `json:"refused,omitempty"`
	Failed  string `json:"failed,omitempty"`
	// Open is set if a plugin or MCP server still had it when the call ended: the counts are not known.
	Open bool `json:"open,omitempty"`
	// Times is how often the same was refused, if more than once.
	Times int `json:"times,omitempty"`

	undecided bool // a person could still allow it
}

// String returns a line about the connection.
func (c Connection) String() string {
	host := asEntry(c.Host, c.Port)
	times := ""
	if c.Times > 1 {
		times = fmt.Sprintf(" (%d times)", c.Times)
	}
	switch {
	case c.Refused != "":
		return fmt.Sprintf("%s refused: %s%s", host, c.Refused, times)
	case c.Failed != "":
		return fmt.Sprintf("%s failed: %s%s", host, c.Failed, times)
	}
	said := fmt.Sprintf("%s at %s: %d bytes sent, %d received, %gs", host, c.Address, c.Sent, c.Received, c.Seconds)
	if c.Open {
		said = fmt.Sprintf("%s at %s: open when the call ended", host, c.Address)
	}
	if c.Credential != "" {
		said += " (with credential " + c.Credential + ")"
	}
	if c.Approved != "" {
		said += " (approved " + c.Approved + ")"
	}
	return said
}

// Log has the connections of a call's processes. A nil Log keeps nothing.
type Log struct {
	// Tell, unless nil, is called with each refused or failed connection, once for equal ones, perhaps
	// concurrently.
	Tell func(Connection)
	// Ask, unless nil, asks a person about a connection to "HOST:PORT" and returns how it was approved, or why
	// not; the error wraps ErrUndecided without a decision.
	Ask func(to string) (approved string, err error)
	// Learn makes each process's list ask about what it does not name.
	Learn bool
	// Offline is for processes in a view that is only looked at: they reach nothing.
	Offline bool
	// Serving, unless nil, are the calls that the process serves. While it serves a single one, the log of that call
	// gets the connections too.
	Serving *Serving

	mu          sync.Mutex
	answers     map[string]*answer // by HOST:PORT
	asking      sync.Mutex         // one question at a time
	looked      []string           // names looked up, when learning
	connections []Connection
	included    []Connection // see Include
	text        int          // bytes of hosts and reasons in connections
	missed      int
	list        []string // of the last process that had one
	running     int
	idle        chan struct{} // closed when no process runs
}

// begin is called before a process makes connections, done when all have ended.
func (l *Log) begin(list List) (done func()) {
	if l == nil {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = list.texts()
	if l.running == 0 {
		l.idle = make(chan struct{})
	}
	l.running++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.running--; l.running == 0 {
			close(l.idle)
		}
	}
}

// Settle waits until the connections of ended processes are logged, at most settlePatience: a host may be slow
// to end one.
func (l *Log) Settle() {
	l.mu.Lock()
	running, idle := l.running, l.idle
	l.mu.Unlock()
	if running == 0 {
		return
	}
	select {
	case <-idle:
	case <-time.After(settlePatience):
	}
}

// Connections returns the connections in the order in which they ended, and the number of further ones.
func (l *Log) Connections() (list []Connection, missed int) {
	if l == nil {
		return nil, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Concat(l.connections, l.included), l.missed
}

// Key is the key in a result's metadata, or in an error's details, for the connections that a tool of toolhost's own
// made in another process, which has explained the refused ones.
const Key = "connections"

// Include adds connections of another log, which Explain and Refused leave to it.
func (l *Log) Include(list []Connection) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.included = append(l.included, list...)
}

func (l *Log) own() []Connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.connections)
}

// notNamed is why a host is refused that the list does not name.
const notNamed = "the list does not name it"

// Refused returns the hosts refused because the list does not name them, as written in a list.
func (l *Log) Refused() (hosts []string) {
	return notInList(l.own())
}

func notInList(list []Connection) (hosts []string) {
	for _, c := range list {
		host := asEntry(c.Host, c.Port)
		if (c.Refused == notNamed || c.undecided) && IsHostName(c.Host) && c.Host[0] != '_' && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Explain says which hosts were refused, with the line of agent.hcl that would allow them, and which could not
// be reached; "" if none.
func (l *Log) Explain() string {
	return l.ExplainThose(l.own()...)
}

// ExplainThose is Explain for some connections.
func (l *Log) ExplainThose(list ...Connection) string {
	var said []string
	if hosts := notInList(list); len(hosts) > 0 {
		shown := hosts[:min(len(hosts), mostExplained)]
		more := ""
		if n := len(hosts) - len(shown); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		l.mu.Lock()
		line := Suggest(l.list, shown...)
		l.mu.Unlock()
		said = append(said, fmt.Sprintf("The sandbox refused the network to %s%s. The user can allow that in agent.hcl: %s.",
			strings.Join(shown, ", "), more, line))
	}
	for _, c := range list {
		sentence := ""
		switch {
		case c.Refused != "" && c.Refused != notNamed && c.Refused != ErrUndecided.Error():
			sentence = fmt.Sprintf("The sandbox refused a connection to %s: %s.", asEntry(c.Host, c.Port), c.Refused)
		case c.Failed != "":
			sentence = fmt.Sprintf("%s could not be reached: %s.", asEntry(c.Host, c.Port), c.Failed)
		}
		if sentence != "" && len(said) < mostExplained && !slices.Contains(said, sentence) {
			said = append(said, sentence)
		}
	}
	return strings.Join(said, " ")
}

func (l *Log) refuse(host string, port uint16, why string) {
	l.refused(Connection{Host: host, Port: port, Refused: why})
}

// refuseUnasked is refuse for a connection that a person did not allow.
func (l *Log) refuseUnasked(host string, port uint16, err error) {
	l.refused(Connection{Host: host, Port: port, Refused: err.Error(), undecided: errors.Is(err, ErrUndecided)})
}

func (l *Log) refused(r Connection) {
	if l == nil {
		return
	}
	l.mu.Lock()
	again := l.again(r)
	if !again {
		l.appendConnection(r)
	}
	l.mu.Unlock()
	if !again {
		l.reportFailed(r)
	}
	if call := l.Serving.only(); call != nil {
		call.takeList(l)
		call.refused(r)
	}
}

// again counts a connection that was refused before.
func (l *Log) again(r Connection) bool {
	for i := range l.connections {
		if c := &l.connections[i]; c.Refused == r.Refused && c.Host == r.Host && c.Port == r.Port {
			c.Times = max(c.Times, 1) + 1
			return true
		}
	}
	return false
}

// add logs a connection that has ended.
func (l *Log) add(c Connection, began time.Time) {
	if l == nil {
		return
	}
	c = l.keep(c, began)
	if call := l.Serving.only(); call != nil {
		call.keep(c, began)
	}
}

// opened logs a connection that has been made, for the call that the process serves: it may outlive the call. ended
// logs its end.
func (l *Log) opened(c Connection, began time.Time) (ended func(Connection)) {
	if l == nil {
		return func(Connection) {}
	}
	ended = func(c Connection) { l.keep(c, began) }
	call := l.Serving.only()
	if call == nil {
		return ended
	}
	call.mu.Lock()
	defer call.mu.Unlock()
	c.Open = true
	at := len(call.connections)
	if call.appendConnection(c); len(call.connections) == at {
		return ended // there are too many
	}
	return func(c Connection) {
		c = l.keep(c, began)
		call.mu.Lock()
		defer call.mu.Unlock()
		call.connections[at] = c
	}
}

func (l *Log) keep(c Connection, began time.Time) Connection {
	c.Seconds = time.Since(began).Round(time.Millisecond).Seconds()
	l.mu.Lock()
	l.appendConnection(c)
	l.mu.Unlock()
	l.reportFailed(c)
	return c
}

func (l *Log) appendConnection(c Connection) {
	length := len(c.Host) + len(c.Refused) + len(c.Failed)
	if len(l.connections) == mostKept || l.text+length > mostText {
		l.missed++
		return
	}
	l.text += length
	l.connections = append(l.connections, c)
}

// reportFailed calls Tell for a refused or failed connection. The lock must not be held, since Tell may read the log.
func (l *Log) reportFailed(c Connection) {
	if l.Tell != nil && (c.Refused != "" || c.Failed != "") {
		l.Tell(c)
	}
}

// takeList takes another log's list, for Explain, unless a process of the call had one.
func (l *Log) takeList(other *Log) {
	other.mu.Lock()
	list := other.list
	other.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = list
	}
}

// Serving are the logs of the calls that a process serves now.
type Serving struct {
	mu   sync.Mutex
	logs []*Log
}

// Begin adds the log of a context's call until done is called.
func (s *Serving) Begin(ctx context.Context) (done func()) {
	l := From(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs = append(s.logs, l)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		i := slices.Index(s.logs, l)
		s.logs = slices.Delete(s.logs, i, i+1)
	}
}

// only returns the log of the single call that is served, or nil.
func (s *Serving) only() *Log {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.logs) != 1 {
		return nil
	}
	return s.logs[0]
}

type key struct{}

// With returns a context whose processes' connections are logged.
func With(ctx context.Context, l *Log) context.Context { return context.WithValue(ctx, key{}, l) }

// From returns the log of a context, or nil.
func From(ctx context.Context) *Log {
	l, _ := ctx.Value(key{}).(*Log)
	return l
}

var attached sync.Map // of *Log, by *exec.Cmd

// Attach logs the connections of a command, an *exec.Cmd. Call detach once it has been started or given up.
func Attach(cmd any, l *Log) (detach func()) {
	if l == nil {
		return func() {}
	}
	attached.Store(cmd, l)
	return func() { attached.Delete(cmd) }
}

// Of returns the log of a command, or nil.
func Of(cmd any) *Log {
	l, _ := attached.Load(cmd)
	log, _ := l.(*Log)
	return log
}
