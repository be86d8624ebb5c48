job "j" {
  spread {
    attribute = "${node.datacenter}"
    weight    = 200
  }
}
