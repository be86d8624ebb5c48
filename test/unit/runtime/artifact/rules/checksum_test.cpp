#include "runtime/artifact/rules/checksum.hpp"

#include <doctest/doctest.h>

#include "runtime/artifact/rules/digest.hpp"

using namespace nomad;
using namespace nomad::artifact;

namespace {

const std::string abc_md5 = "900150983cd24fb0d6963f7d28e17f72";
const std::string abc_sha1 = "a9993e364706816aba3e25717850c26c9cd0d89d";

Result<Checksum> find(const std::string& text) {
  return find_checksum(text, *parse_url("https://h/dist/v1/app.zip"),
                       *parse_url("https://h/dist/SUMS"));
}

}  // namespace

TEST_CASE("checksum: what is wrong is said whole") {
  const auto url = *parse_url("https://h/a.zip");
  for (const auto& [text, wanted] : {
           std::pair{"sha1024:00", "invalid checksum: unsupported checksum type: sha1024"},
           {"md5:00", "invalid checksum: \"00\" has not the 32 hexadecimal digits of md5"},
           {"00", "invalid checksum: Unknown type for checksum 00"},
           {"file:", "invalid checksum: file: names no file"},
       })
    CHECK(parse_checksum(text).error().what == wanted);
  const auto from = *parse_url("https://h/sums");
  CHECK(find_checksum("", url, from).error().what == "no checksum found in: https://h/sums");
  CHECK(find_checksum("x y z\n", url, from).error().what == "no checksum found in: https://h/sums");
}

TEST_CASE("checksum: what was given is understood") {
  const auto given
      = parse_checksum("MD5:" + std::string{"900150983CD24FB0D6963F7D28E17F72"}).value();
  CHECK(given.value == Checksum{Checksum::Kind::md5, abc_md5});
  CHECK(parse_checksum(abc_sha1)->value->kind == Checksum::Kind::sha1);
  CHECK(parse_checksum(std::string(64, 'a'))->value->kind == Checksum::Kind::sha256);
  CHECK(parse_checksum("sha512:" + std::string(128, 'a'))->value->kind == Checksum::Kind::sha512);
  CHECK(parse_checksum("file:https://h/SUMS")->file == "https://h/SUMS");
  CHECK(parse_checksum(" file: https://h/SUMS\n")->file == "https://h/SUMS");
  CHECK(parse_checksum("\t" + std::string{abc_sha1} + " ")->value->kind == Checksum::Kind::sha1);
  for (const char* bad : {"", "abc", "md5:", "md5:xyz", "crc32:00000000",
                          "file:", "sha256:900150983cd24fb0d6963f7d28e17f72"})
    CHECK_MESSAGE(!parse_checksum(bad), bad);
}

TEST_CASE("checksum: files of checksums, GNU's and the BSDs'") {
  const auto other = std::string(32, '0');
  CHECK(find(other + "  other.zip\n" + abc_md5 + "  app.zip\n")->digits == abc_md5);
  CHECK(find(abc_md5 + " *app.zip\r\n")->digits == abc_md5);
  CHECK(find(abc_md5 + "  v1/app.zip")->digits == abc_md5);
  CHECK(find(abc_md5 + "  ./v1/app.zip")->digits == abc_md5);
  CHECK(find("# comment of four words\nSHA1 (app.zip) = " + abc_sha1)->kind
        == Checksum::Kind::sha1);
  CHECK(find(abc_sha1)->digits == abc_sha1);
  CHECK(find(other + "  other.zip\n").error().code == Errc::not_found);
  CHECK(!find(""));
}

TEST_CASE("digest: of bytes as they come") {
  Digest digest{Checksum::Kind::md5};
  digest.add("a");
  digest.add("bc");
  CHECK(digest.finish() == abc_md5);
}
