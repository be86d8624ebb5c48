job "j" {
  datacenters {
  }
}
