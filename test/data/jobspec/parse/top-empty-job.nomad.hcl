job "j" {

}
