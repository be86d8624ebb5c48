# The agent's configuration: all files of this folder are read. As it is, this machine is a cluster of its own.
# Its keys are those of Nomad's agents; `nomadctl config validate /etc/nomad.d` checks what is written here.
data_dir  = "/var/lib/nomadctl"
bind_addr = "127.0.0.1" # the address of this machine, if there are others

server {
  enabled          = true
  bootstrap_expect = 1
}

client {
  enabled = true
}

# Nobody does what no policy allows: docs/security.md.
# acl {
#   enabled = true
# }

# Tasks without isolation, with all rights of the agent.
# plugin "raw_exec" {
#   config {
#     enabled = true
#   }
# }
