package main

import (
	"context"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// systemdService is the service unit. Type=notify: systemd waits for READY=1 before it starts dependent units. The
// other directives remove privileges that the daemon never needs; see systemd.exec(5).
const systemdService = `# ` + serviceMark + `; the next install replaces it.
[Unit]
Description=Long-term memory of AI agents
Documentation=man:memsidecar(1)
Requires=NAME.socket
After=NAME.socket

[Service]
Type=notify
ExecStart=COMMAND
Restart=on-failure
RestartSec=1
TimeoutStopSec=30
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native

[Install]
Also=NAME.socket
`

// systemdSocket is the socket unit. It has the modes that the daemon itself would use.
const systemdSocket = `# ` + serviceMark + `; the next install replaces it.
[Unit]
Description=Socket of the long-term memory of AI agents

[Socket]
ListenStream=SOCKET
SocketMode=0600
DirectoryMode=0700

[Install]
WantedBy=sockets.target
`

// systemdDir is the directory of the user's units.
func systemdDir(env func(string) string) (string, error) {
	if dir := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "systemd/user"), nil
	}
	home := env("HOME")
	if !filepath.IsAbs(home) {
		return "", usagef("neither HOME nor XDG_CONFIG_HOME is set to an absolute path")
	}
	return filepath.Join(home, ".config/systemd/user"), nil
}

// systemdFiles are the two units of a service. Percent signs are doubled, because systemd expands specifiers.
func systemdFiles(dir, name, socket string, command []string) []serviceFile {
	quoted := make([]string, len(command))
	for i, arg := range command {
		quoted[i] = systemdQuote(arg)
	}
	unit := strings.NewReplacer("NAME", name, "COMMAND", strings.Join(quoted, " "), "SOCKET",
		strings.ReplaceAll(socket, "%", "%%"))
	return []serviceFile{
		{filepath.Join(dir, name+".service"), unit.Replace(systemdService)},
		{filepath.Join(dir, name+".socket"), unit.Replace(systemdSocket)},
	}
}

// systemdQuote quotes an argument of ExecStart; see systemd.service(5), "Command lines".
func systemdQuote(arg string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$", "\n", `\n`).Replace(arg) + `"`
}

// launchdPlist is the property list. Umask 63 is 0077 in decimal, as launchd wants it.
const launchdPlist = `<?xml version="1.0" encoding="UTF-8"?>
<!-- ` + serviceMark + `; the next install replaces it. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>LABEL</string>
	<key>ProgramArguments</key>
	<array>
COMMAND	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>Umask</key>
	<integer>63</integer>
	<key>StandardOutPath</key>
	<string>LOG</string>
	<key>StandardErrorPath</key>
	<string>LOG</string>
</dict>
</plist>
`

// launchdFiles is the property list of a service.
func launchdFiles(dir, label, log string, command []string) []serviceFile {
	var args strings.Builder
	for _, arg := range command {
		args.WriteString("\t\t<string>" + xmlText(arg) + "</string>\n")
	}
	text := strings.NewReplacer("LABEL", xmlText(label), "COMMAND", args.String(), "LOG",
		xmlText(log)).Replace(launchdPlist)
	return []serviceFile{{filepath.Join(dir, label+".plist"), text}}
}

// xmlText escapes a text for XML.
func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // strings.Builder returns no error
	return b.String()
}

// socketUnit starts or stops the systemd socket of this daemon, if it is installed. While systemd listens, every
// connection starts the daemon again.
func (in *instance) socketUnit(ctx context.Context, verb string) {
	if runtime.GOOS != "linux" {
		return
	}
	dir, err := systemdDir(in.app.env)
	if err != nil {
		return
	}
	unit := in.serviceName() + ".socket"
	if _, err := os.Stat(filepath.Join(dir, unit)); err != nil {
		return
	}
	if out, err := exec.CommandContext(ctx, "systemctl", "--user", verb, unit).CombinedOutput(); err != nil {
		in.app.out.note("systemctl --user %s %s: %v %s", verb, unit, err, strings.TrimSpace(string(out)))
	}
}
