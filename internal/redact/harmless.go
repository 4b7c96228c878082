package redact

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// publicAddress is the form of addresses: bech32 of several currencies and Nostr, base58 of Bitcoin and its relatives,
// Ethereum, TON.
const publicAddress = `(?:age1|bc1|tb1|ltc1|addr1|stake1|cosmos1|osmo1|bnb1|inj1|celestia1|terra1|npub1|note1` +
	`|nevent1|nprofile1|erd1|lnbc\w{0,8})[02-9ac-hj-np-z]{30,}` +
	`|[13mn2LMD3][1-9A-HJ-NP-Za-km-z]{25,34}|T[1-9A-HJ-NP-Za-km-z]{33}|r[1-9A-HJ-NP-Za-km-z]{24,34}` +
	`|[48][1-9A-HJ-NP-Za-km-z]{94}` +
	`|0x[0-9a-fA-F]{40}|(?:EQ|UQ|kQ)[\w-]{46}`

var address = lazyregexp.New(`^(?:` + publicAddress + `)$`)

// publicID knows random strings that are made to be told: addresses, content ids (IPFS, IPNS), hashes of the Nix
// store, publishable keys of Stripe, Mapbox and reCAPTCHA, object ids of Stripe, OpenAI, Airtable, Google and YouTube.
var publicID = lazyregexp.New(`^(?:` +
	publicAddress + // of a currency
	`|Qm[1-9A-HJ-NP-Za-km-z]{44}|(?:baf[ky]|bagu|bagb)[a-z2-7]{50,}|k51q[0-9a-z]{50,}|k2k4r8\w{40,}` +
	`|12D3Koo[1-9A-HJ-NP-Za-km-z]{40,}` +
	`|[0-9a-df-np-sv-z]{32}(?:-[\w.+-]+)?` +
	`|pk_(?:live|test)_\w+|pk\.eyJ[\w.-]+|6L[\w-]{38}` +
	`|(?:cus|pi|pm|ch|in|sub|si|price|prod|acct|evt|txn|cs|seti|src|card|ba|po|re|dp|tr|il|sli|plink|promo|file` +
	`|link|req|we|mandate|radar)` +
	`_(?:live_|test_)?[A-Za-z0-9]{8,}` +
	`|(?:sha(?:1|256|384|512)|md5|blake[23]\w?|crc32c?)[-:=][\w+/=-]+|h1:[\w+/=]+` +
	`|[A-Za-z0-9-]+\.apps\.googleusercontent\.com` +
	`|1[-_A-Za-z0-9]{32}|1[-_A-Za-z0-9]{43}|PL[\w-]{32}|UC[\w-]{22}` + // Google Drive, Google Docs, YouTube
	`|asst_\w+|thread_\w+|run_\w+|msg_\w+|chatcmpl-\w+|resp_\w+|toolu_\w+|call_\w+|file-\w+|vs_\w+|ft:\S+` +
	`|rec\w{14}|app\w{14}` +
	`)$`)

// harmlessWords name, just before a value, a thing that people share. suspectWords outweigh them.
var (
	harmlessWords = lazyregexp.New(`(?i)(?:\bids?\b|[_-]ids?\b|\b(?:address(?:es)?|addr|wallet|donations?` +
		`|donate|drive|folder|directory` +
		`|docs?|documents?|sheets?|spreadsheet|slides|forms?|files?|videos?|channel|playlist|page|board` +
		`|calendar|hash(?:es)?|digest` +
		`|checksum|fingerprint|commit|revision|rev|tree|blob|image|layer|cid|ipfs|ipns|arweave|pin(?:ned)?` +
		`|content (?:id|identifier|hash|address)|nix|store path` +
		`|derivation|transaction|tx(?:id|n)?|block|contract|mint|account number|validator|peer|node|public|pub` +
		`(?:key)?|site ?key|measurement` +
		`|tracking|order|invoice|ticket|trace|request|build|artifact|etag|integrity|nonce|dataset|model|magnet` +
		`|torrent|infohash|inode|uuid|ulid` +
		`|ksuid|snowflake|identifier|number|no|ref(?:erence)?|permalink|slug|cursor|bucket|object|anchor|thread` +
		`|run|job|figma|notion|miro|program|router|bitcoin|ethereum|solana|polkadot|monero|cardano|litecoin` +
		`|dogecoin` +
		`|tron|btc|eth|sol|dot|xmr|ltc|usdt|nft)\b` +
		`|地址|钱包|捐款|文件|文档|文件夹|表格|视频|频道|播放列表|日历|哈希|散列|摘要|校验|指纹|公钥|编号|标识|合约|交易|区块|提交|镜像|订单|单号|追踪|节点` +
		`)[^\n]{0,40}$`)
	suspectWords = lazyregexp.New(`(?i)(?:\b(?:secret|private|token|passw|passphrase|pwd|pass|credential|creds` +
		`|auth|bearer|login|api|vault|seed` +
		`|signing|encryption|master|pre-?shared|psk|access key|admin key)|_(?:secret|token|pass|pwd|key)|密码|口令|密钥|秘钥|私钥` +
		`|令牌|凭证` +
		`|凭据|授权)[^\n]{0,40}$`)
)

// isPublicID reports whether the random string s[from:to] is one that is made to be told, by its form or by the words
// before it.
func isPublicID(s string, from, to int) bool {
	word := strings.Trim(s[from:to], ".-")
	lead := s[wordStart(s, max(0, from-80)):from]
	if i := strings.LastIndexAny(lead, "\n;。；"); i >= 0 {
		lead = lead[i+1:]
	}
	if i := strings.LastIndex(lead, `,"`); i >= 0 {
		lead = lead[i+2:] // another member of a JSON object
	}
	if suspectWords.MatchString(lead) {
		return false
	}
	return publicID.MatchString(word) || harmlessWords.MatchString(lead)
}
