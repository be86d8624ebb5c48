id        = "data"
name      = "data"
type      = "csi"
plugin_id = "local"

capacity_min = "10MiB"
capacity_max = "1GiB"

capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}
