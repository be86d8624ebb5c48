variable "a" {
  default = upper("x")
}
job "j" {

}
