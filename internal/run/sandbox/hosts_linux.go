package sandbox

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/sandbox/launch"
)

// hostsServed says that level full can let a process reach hosts by name.
const hostsServed = true

// serveHosts lets a process at level full reach the hosts of the list.
func (p *Policy) serveHosts(plan *launch.Plan, v *viewBuilder, cmd *exec.Cmd) error {
	list, err := network.Parse(p.Hosts)
	if err != nil {
		return err
	}
	server := network.NewServer(list, network.Of(cmd), network.SystemDialer())
	certificate, err := server.Credentials(p.Credentials)
	if err != nil {
		return err
	}
	theirs, err := server.Start()
	if err != nil {
		return err
	}
	plan.Network, plan.Addresses = addFile(cmd, theirs), server.Interface()
	for _, socket := range server.Sockets() {
		plan.Sockets = append(plan.Sockets, launch.Socket(socket))
	}
	v.texts = map[string]string{
		"/etc/resolv.conf": "nameserver " + network.Resolver().String() + "\nsearch .\noptions timeout:2 attempts:1\n",
		"/etc/hosts":       localNames(),
	}
	if text := lookupOrder(); text != "" {
		v.texts["/etc/nsswitch.conf"] = text
	}
	if certificate != nil {
		files, env := network.Trusting(certificate)
		if len(files) == 0 {
			_ = theirs.Close()
			return errors.New("no file of certificates was found, to which that of a credential's host could be added: " +
				"install ca-certificates")
		}
		maps.Copy(v.texts, files)
		p.trusting = env
	}
	return nil
}

// localNames returns the names of this machine only: no route leads to the addresses of others.
func localNames() string {
	text := "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
	if name, err := os.Hostname(); err == nil && name != "" && !strings.ContainsAny(name, " \t\n#") {
		text += "127.0.1.1 " + name + "\n"
	}
	return text
}

// lookupOrder returns nsswitch.conf with host names looked up by files and DNS; "" if it is so already.
func lookupOrder() string {
	data, err := os.ReadFile("/etc/nsswitch.conf")
	if err != nil {
		return ""
	}
	const order = "hosts: files dns\n"
	var b strings.Builder
	changed := false
	for line := range strings.Lines(string(data)) {
		if database, _, _ := strings.Cut(strings.TrimSpace(line), ":"); database == "hosts" {
			changed = changed || strings.Join(strings.Fields(line), " ")+"\n" != order
			line = order
		}
		b.WriteString(line)
	}
	if !changed {
		return ""
	}
	return b.String()
}

// showTexts puts texts in the place of existing files.
func (v *viewBuilder) showTexts() {
	for path := range v.texts {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			delete(v.texts, path)
			continue
		}
		if real != path {
			v.texts[real] = v.texts[path]
			delete(v.texts, path)
		}
		v.kinds[real] = launch.Text
	}
}
