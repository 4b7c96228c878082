package redact

// What other languages call a password. Their sentences need no grammar of their own: a value that looks drawn by lot
// is taken where such a word is, and one that people choose where a sign, a quote or the word itself points at it.

// foreignNouns are the stems; endings follow.
const foreignNouns = `[Пп]арол|[Пп]ін-?код|[Пп]ин-?код|[Hh]asł|[Şş]ifre|ŞİFRE|[Pp]arola|비밀번호|비번|암호|패스워드|パスワード|暗証番号` +
	`|パスフレーズ|パスコード|[Пп]асворд|\bmdp\b` +
	`|[Hh]eslo|[Jj]elszó|[Jj]elszav|[Ll]ösenord|[Aa]dgangskode|[Pp]assord|[Ss]alasana|[Ll]ozink|[Ll]ykilorð` +
	`|[Ss]laptažod` +
	`|[Κκ]ωδικό|סיסמ|كلمة (?:المرور|السر)|رمز عبور|[Mm]ật khẩu|[Kk]ata sandi|รหัสผ่าน|पासवर्ड|[Cc]ontrasenya|[Mm]ật mã`

// foreignHints are the hints of foreignNouns.
const foreignHints = "арол ін-код ин-код інкод инкод asł ifre |parola 비밀번호 비번 암호 패스워드 パスワード 暗証番号 パスフレーズ " +
	"パスコード асворд |mdp| heslo jelsz " +
	"senord adgangskode passord salasana lozink lykilor slapta ωδικό סיסמ كلمة عبور khẩu kata~sandi " +
	"รหัสผ่าน पासवर्ड contrasenya"

// languages are values of other languages that are numbers.
var languages = []shape{
	newShape("pin", foreignHints, `(?:`+foreignNouns+`)[^\n.:=\d]{0,40}?(?:[:：=]|\s(?:is|est|es|é|это|jest|to)`+
		`|[는은이가は])?\s*`+
		opening+`(?P<v>\d{4,12})(?-i:`+numberEnd+`|\s*[\p{Hangul}\p{Hiragana}])`, noMeasure),
	newMixedShape("password", foreignHints+
		" wachtwoord passwort kennwort contrase mot~de~passe |senha| |clave| |password~",
		`(?:`+foreignNouns+`|(?i:wachtwoord|passwort|kennwort|contraseña|mot de passe|senha|clave|la password))`+
			`[^.\n:=]{0,40}?\s(?:is|ist|lautet|est|es|é|è|és|är|er|on|je|to|jest|este|это|είναι|היא|هي|là|=)\s+`+opening+
			`(?P<v>[!-~]{5,}?)`+spokenEnd, mixedPassword),
}

// secretKeys is what else people call a secret: a kind of key, code or token, the community of SNMP.
const secretKeys = `(?:wi-?fi|wlan|wpa2?|network|security|pre-?shared|shared|unseal|join|licen[cs]e|activation` +
	`|access` +
	`|entry|entrance|unlock|invite|master|secret|private|api|signing|encryption|recovery|session|deploy|auth|bot` +
	`|admin|root` +
	`|webhook|integration|enable)[ -](?:key|code|token|secret)|product[ -]key|(?:secret|magic|code|safe) ?word` +
	`|community(?: string)?`

// secretKeyHints are the hints of secretKeys.
const secretKeyHints = "~key -key ~code -code ~token -token secret~word magic~word code~word codeword " +
	"safe~word safeword " +
	"community"

// secretWords is every English name of a secret; secretWord finds one that stands alone or ends a name.
const secretWords = `(?:p?assword|passwd|pass ?phrase|pass ?code|pwd|pw|pass|(?:store|key|user|db|root|admin|smtp` +
	`|ftp|web|login|mail)pass|psk|creds?|credentials?|secret|token` +
	`|` + secretKeys + `)`

// services are what people have an account with, or a key of. Beside one of them a value that looks drawn by lot is a
// password, unless it is called an id or a number.
const services = `portal|s?ftps?|imap|smtp|pop3|mesh|wi-?fi|wlan|hotspot|ssid|router|modem|nas|synology|qnap` +
	`|oracle|sap` +
	`|idrac|ilo|ipmi|bmc|vcenter|esxi|proxmox|pi-?hole|tomcat|vpn|rdp|vnc|anydesk|teamviewer|todesk|account|console` +
	`|netflix` +
	`|spotify|disney\+?|steam|laptop|camera|cams?|web ?mail|bind|connects? with|connected with|opens? with` +
	`|use \S+ (?:with|and|/)|as \S+ (?:with|and|/)`

// serviceHints are the hints of services.
const serviceHints = "|portal| ftp |imap| |smtp| |pop3| |mesh| |wifi| |wi-fi| |wlan| |hotspot| |ssid| " +
	"|router| |modem| " +
	"|nas| synology qnap |oracle| |sap| idrac |ilo| |ipmi| |bmc| vcenter esxi proxmox pi-hole pihole tomcat |vpn| |rdp| " +
	"|vnc| anydesk teamviewer todesk |account| |console| netflix spotify disney |steam| |laptop| |camera| |cam| |cams| " +
	"|webmail| |web~mail| |bind| mysql:host pgsql: sqlsrv: oci: jdbc: connect~with connects~with " +
	"connected~with open~with opens~with |use~ |as~ |unzip |unpack |protect " +
	"|encrypt"
