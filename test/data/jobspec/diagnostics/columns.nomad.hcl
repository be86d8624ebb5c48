job "wéb" {
	méta = "😀" + 1
	name = "日本" / 2
}
