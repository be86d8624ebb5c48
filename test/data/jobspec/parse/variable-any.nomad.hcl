variable "a" {
  type = any
}
job "j" {

}
