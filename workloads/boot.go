package workloads

// Where PID 1 finds its files, and where they are after it has switched to the
// root file system.
const (
	InitDir  = "/spindle"     // in the initramfs
	GuestDir = "/run/spindle" // in the guest's root, the same directory

	BootFile       = "guest.json"      // Boot
	JobFile        = "job.json"        // Job, of a guest with a mailbox
	ModuleList     = "modules.json"    // kmod.List
	ModuleDir      = "modules"         // the files of the list
	HostKeyFile    = "host_key"        // ed25519 private key, OpenSSH PEM
	AuthorizedFile = "authorized_keys" // who may log in
	AgentFile      = "spindle-guest"   // the program itself
)

// Boot is what PID 1 of a guest needs to know; the host writes it for each
// guest.
type Boot struct {
	Modules  []string `json:"modules"`  // to load before the root is looked for
	Root     string   `json:"root"`     // serial of the drive with the squashfs
	Port     string   `json:"port"`     // name of the virtio port that SSH is served on
	OpenSSH  bool     `json:"openssh"`  // SSH is served by the image's sshd, not by spindle-guest
	Hostname string   `json:"hostname"` // "" leaves the kernel's
	Time     int64    `json:"time"`     // Unix seconds to set the clock to; 0 leaves it

	// Mailbox is the serial of the drive that a guest in virtual time speaks to
	// the host by, in place of SSH; it carries out the job in JobFile then. ""
	// is SSH.
	Mailbox string `json:"mailbox,omitempty"`
}
