# One machine that is server and client: nomadctl agent -config examples/agent.hcl
data_dir  = "/var/lib/nomadctl"
bind_addr = "127.0.0.1"

server {
  enabled          = true
  bootstrap_expect = 1
}

client {
  enabled = true
}

plugin "raw_exec" {
  config {
    enabled = true
  }
}
