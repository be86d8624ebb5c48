job "j" {
  region = null
  priority = null
  datacenters = null
}
