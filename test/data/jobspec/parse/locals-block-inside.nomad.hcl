locals {
  a {
    b = 1
  }
}
job "j" {

}
