job "j" {
  datacenters = "dc1"
}
