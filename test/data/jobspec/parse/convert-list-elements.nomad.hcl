job "j" {
  datacenters = ["dc1", 2, true]
}
