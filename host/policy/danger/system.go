package danger

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/policy"
)

// ruleForSystem gives the rule for programs about processes, the machine and
// its services.
func ruleForSystem(name string) rule {
	switch name {
	case "kill", "pkill", "killall", "killall5", "skill", "xkill":
		return kills
	case "fuser":
		return withOption("ends processes", "-k", "--kill")
	case "reboot", "shutdown", "halt", "poweroff", "init", "telinit":
		return always("stops the machine")
	case "systemctl", "service", "launchctl", "rc-service", "sv":
		return words("stops or changes a service", "stop|disable|mask|kill|restart|reload|reboot|poweroff|halt|isolate|unload|bootout|remove|enable|start|edit|set-property|delete|emergency|rescue|down")
	case "fdisk", "sfdisk", "cfdisk", "parted", "gdisk", "sgdisk", "wipefs", "mkswap", "blkdiscard", "hdparm", "badblocks", "cryptsetup", "lvremove", "vgremove", "pvremove", "lvreduce", "mdadm":
		return changesDisk
	case "zfs", "zpool":
		return words("destroys a file system", "destroy|rollback|labelclear")
	case "btrfs":
		return words("deletes a subvolume", "subvolume|sub", "delete|del")
	case "diskutil":
		return anyWord("changes a disk", `^(erase|partition|zero|secureErase|reformat|unmount)`)
	case "mount", "umount", "swapoff", "swapon", "losetup", "insmod", "rmmod", "modprobe", "setenforce":
		return withArguments("changes the running system")
	case "sysctl":
		return withOption("changes the running system", "-w", "--write", "-p", "--load", "--system")
	case "iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "pfctl":
		return withArguments("changes the firewall")
	case "ip":
		return anyWord("changes the network", `^(del|delete|flush|add|set|change|replace)$`)
	case "ifconfig", "route":
		return anyWord("changes the network", `^(down|del|delete|add|up)$`)
	case "userdel", "groupdel", "usermod", "useradd", "groupadd", "adduser", "deluser", "delgroup", "chsh", "chpasswd", "passwd", "visudo", "vipw":
		return always("changes the accounts of the machine")
	case "crontab":
		return crontab
	case "at", "batch":
		return withArguments("plans a command for later")
	case "tmux":
		return anyWord("ends a terminal session", `^kill-`)
	case "eval", "exec", "source", ".":
		return nil
	}
	return ruleForTools(name)
}

// withArguments is for programs that only show something without arguments.
func withArguments(reason string) rule {
	return func(_ *judge, c *policy.Command) (Class, string) {
		if len(operands(c)) == 0 && !c.Has("-a", "-F", "-f", "-X", "-A", "-D", "-I", "-P") {
			return Fine, ""
		}
		if c.Has("-l", "-L", "--list", "-S") && len(operands(c)) == 0 {
			return Fine, ""
		}
		return Caution, reason
	}
}

// withOption is for programs that are dangerous with one of some options.
func withOption(reason string, options ...string) rule {
	return func(_ *judge, c *policy.Command) (Class, string) {
		if c.Has(options...) {
			return Caution, reason
		}
		return Fine, ""
	}
}

// words is for programs whose operands begin with some words.
func words(reason string, want ...string) rule {
	return func(_ *judge, c *policy.Command) (Class, string) {
		have := texts(operands(c))
		for at := range min(len(have), 3) { // the values of options may come before
			if at == 1 && onlyLooks(have[0]) {
				break
			}
			if begins(have[at:], want...) {
				return Caution, reason
			}
		}
		return Fine, ""
	}
}

// onlyLooks reports a word after which nothing is removed, whatever the
// further ones are.
func onlyLooks(verb string) bool {
	return slices.Contains([]string{"install", "i", "add", "run", "test", "t", "exec", "get", "describe", "search", "show", "info", "list", "ls", "view", "help", "build", "plan", "status", "logs", "download", "update", "create"}, verb)
}

// anyWord is for programs one of whose arguments matches a pattern.
func anyWord(reason, pattern string) rule {
	return func(_ *judge, c *policy.Command) (Class, string) {
		expression := regexp.MustCompile(pattern)
		if slices.ContainsFunc(c.Texts(), expression.MatchString) {
			return Caution, reason
		}
		return Fine, ""
	}
}

func kills(_ *judge, c *policy.Command) (Class, string) {
	args := c.Texts()
	if c.Program() == "kill" {
		if len(args) == 0 || slices.Contains([]string{"-l", "-L", "--list", "--table", "-0"}, args[0]) {
			return Fine, ""
		}
		if len(args) > 1 && (args[0] == "-s" || args[0] == "-n") && args[1] == "0" {
			return Fine, ""
		}
		if last := args[len(args)-1]; last == "-1" {
			return Blocked, "ends every process"
		}
	}
	if c.Program() == "killall5" {
		return Blocked, "ends every process"
	}
	return Caution, "ends processes"
}

func changesDisk(j *judge, c *policy.Command) (Class, string) {
	if c.Has("-l", "--list") && c.Program() != "wipefs" {
		return Fine, ""
	}
	for _, w := range operands(c) {
		if j.place(w).device() {
			return Blocked, "changes the device " + w.Text
		}
	}
	return Caution, "changes disks"
}

func crontab(_ *judge, c *policy.Command) (Class, string) {
	if c.Has("-l") {
		return Fine, ""
	}
	return Caution, "changes what runs at planned times"
}

// isForkBomb finds a function that starts itself more than once, or in the
// background.
func isForkBomb(line string) bool {
	if !forkMaybe().MatchString(line) {
		return false
	}
	for _, match := range forkMaybe().FindAllStringSubmatch(line, -1) {
		name, body := match[1]+match[2], match[3]
		count := 0
		for _, word := range strings.FieldsFunc(body, func(c rune) bool { return strings.ContainsRune(" \t\n;|&(){}", c) }) {
			if word == name {
				count++
			}
		}
		if count > 1 || count == 1 && strings.Contains(strings.ReplaceAll(body, "&&", ""), "&") {
			return true
		}
	}
	return false
}

// forkMaybe finds definitions of functions: name(){ body } and function name
// { body }.
var forkMaybe = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:([^\s(){};|&"']+)\s*\(\s*\)|function\s+([^\s(){};|&"']+)(?:\s*\(\s*\))?)\s*[{(]([^}]*)[})]`)
})
