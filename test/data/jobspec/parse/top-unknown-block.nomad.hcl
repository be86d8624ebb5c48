resource "x" {}
job "j" {

}
