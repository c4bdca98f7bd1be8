package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func startChecks() []check {
	return []check{
		{"start.handshake", "print CORE|PROTOCOL|unix|SOCKET|grpc on standard output once it listens", checkHandshake},
		{"start.socket", "listen on a unix socket in the directory PLUGIN_UNIX_SOCKET_DIR", checkSocket},
		{"start.version", "choose the newest protocol version that the host offers and it speaks", checkVersion},
		{"start.version_old", "choose version 1 when the host offers nothing else, or say on the handshake line what it speaks",
			checkOldHost},
		{"start.version_unknown", "end, or name a version of its own, when it speaks none that the host offers",
			checkUnknownVersion},
		{"start.cookie", "end with an error when TOOLHOST_PLUGIN is not toolhost.plugin", checkCookie},
	}
}

func checkHandshake(_ context.Context, k *kit) error {
	if k.main == nil {
		return k.notStart
	}
	fields := strings.Split(k.main.line, "|")
	switch {
	case fields[0] != "1":
		return fmt.Errorf("the first field is %q and has to be 1", fields[0])
	case len(fields) < 5 || fields[4] != "grpc":
		return fmt.Errorf("the fifth field has to be grpc: %q", k.main.line)
	}
	return nil
}

func checkSocket(_ context.Context, k *kit) error {
	p, err := k.started()
	if err != nil {
		return err
	}
	if filepath.Dir(filepath.Clean(p.address)) != filepath.Clean(p.socketDir) {
		return fmt.Errorf("it listens at %s, outside %s", p.address, p.socketDir)
	}
	info, err := os.Stat(p.address)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s is not a socket", p.address)
	}
	return nil
}

func checkVersion(_ context.Context, k *kit) error {
	p, err := k.started()
	if err != nil {
		return err
	}
	k.report.Protocol = p.version
	if p.version != 1 && p.version != 2 {
		return fmt.Errorf("it chose version %d when 1 and 2 were offered", p.version)
	}
	return nil
}

func checkOldHost(ctx context.Context, k *kit) error {
	if _, err := k.started(); err != nil {
		return err
	}
	p, err := k.start(ctx, "1")
	if err != nil {
		return err
	}
	defer p.kill()
	if p.version == 1 {
		ctx, cancel := k.step(ctx)
		defer cancel()
		_, err := p.client.Describe(ctx)
		return err
	}
	if k.main.version == p.version {
		return skip("it speaks version %d only", p.version)
	}
	return fmt.Errorf("it chose version %d", p.version)
}

func checkUnknownVersion(ctx context.Context, k *kit) error {
	if _, err := k.started(); err != nil {
		return err
	}
	p, err := k.launch("9999", true)
	if err != nil {
		return err
	}
	defer p.kill()
	deadline := time.Now().Add(k.options.Timeout)
	for time.Now().Before(deadline) && ctx.Err() == nil {
		if line := p.handshakeLine(); line != "" {
			if version, _ := strconv.Atoi(strings.Split(line, "|")[1]); version == 9999 {
				return fmt.Errorf("it claims to speak version 9999")
			}
			return nil
		}
		if p.ends(2 * time.Millisecond) {
			return nil
		}
	}
	return fmt.Errorf("it did neither within %s", k.options.Timeout)
}

func checkCookie(_ context.Context, k *kit) error {
	if _, err := k.started(); err != nil {
		return err
	}
	p, err := k.launch("", false)
	if err != nil {
		return err
	}
	defer p.kill()
	switch {
	case !p.ends(k.options.Timeout):
		return fmt.Errorf("it still runs after %s", k.options.Timeout)
	case p.handshakeLine() != "":
		return fmt.Errorf("it printed a handshake: %s", p.line)
	case p.cmd.ProcessState.Success():
		return fmt.Errorf("it ended with exit code 0")
	}
	return nil
}
