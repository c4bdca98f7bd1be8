package config

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/host/tool"
)

// grants reads the permissions block. Without it tools get all that they ask for.
func (r *reader) grants(b *hcl.Block) {
	blk := r.open(b, "permissions")
	blk.require("grant")
	r.cfg.Granted = blk.permissions("grant")
	if r.cfg.Granted == nil {
		r.cfg.Granted = []tool.Permission{}
	}
}
