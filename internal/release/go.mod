module github.com/toolhost/toolhost/internal/release

go 1.26.5

require (
	aead.dev/minisign v0.3.0
	github.com/CycloneDX/cyclonedx-go v0.12.0
	github.com/blakesmith/ar v0.0.0-20190502131153-809d4375e1fb
	github.com/sassoftware/go-rpmutils v0.4.0
	golang.org/x/mod v0.42.0
)

require (
	github.com/DataDog/zstd v1.5.7 // indirect
	github.com/ProtonMail/go-crypto v1.5.2 // indirect
	github.com/cloudflare/circl v1.6.4 // indirect
	github.com/klauspost/compress v1.20.1 // indirect
	github.com/ulikunitz/xz v0.5.17 // indirect
	github.com/xi2/xz v0.0.0-20171230120015-48954b6210f8 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
