package config

import "os"

// CheckTrees looks for the directories that the workspace block names. A root
// that is not there is an error; without a further directory the rest works,
// so that is a warning.
func (c *Config) CheckTrees() Diagnostics {
	var diags Diagnostics
	w := c.Workspace
	if why := noDirectory(w.Root); why != "" {
		diags = append(diags,
			c.Report("error", c.At("workspace.root", w.Pos), "No workspace", "The directory "+w.Root+" "+why,
				"Create it, or name another as root."))
	}
	for i, dir := range w.Allow {
		severity := "warning"
		if _, err := os.Stat(dir); err == nil {
			severity = "error"
		}
		if why := noDirectory(dir); why != "" {
			diags = append(diags, c.Report(severity, c.At(item("workspace.allow", i), w.Pos), "No such directory",
				"The directory "+dir+" "+why,
				"Create it, or take it out; until then tools cannot use it."))
		}
	}
	return diags
}

// noDirectory says why a path is no directory to work in.
func noDirectory(path string) string {
	switch info, err := os.Stat(path); {
	case path == "":
		return "" // the working directory
	case os.IsNotExist(err):
		return "does not exist"
	case err != nil:
		return "cannot be used: " + err.Error()
	case !info.IsDir():
		return "is a file"
	}
	return ""
}
