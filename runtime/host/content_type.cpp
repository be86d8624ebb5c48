// detect_content_type: the media types that Go's net/http tells apart by a file's first bytes, in
// the order of the WHATWG's "MIME Sniffing" specification, sections 6 and 7.
#include <algorithm>
#include <array>

#include "runtime/host/beneath.hpp"

namespace nomad::host {

namespace {

constexpr std::string_view white_space = "\t\n\x0c\r ";
constexpr std::string_view html = "text/html; charset=utf-8";

struct Exact {
  std::string_view bytes;
  std::string_view type;
};

using namespace std::string_view_literals;

constexpr std::array exact = {Exact{"%PDF-"sv, "application/pdf"},
                              Exact{"%!PS-Adobe-"sv, "application/postscript"},
                              Exact{"\xFE\xFF"sv, "text/plain; charset=utf-16be"},
                              Exact{"\xFF\xFE"sv, "text/plain; charset=utf-16le"},
                              Exact{"\xEF\xBB\xBF"sv, "text/plain; charset=utf-8"},
                              Exact{"\x00\x00\x01\x00"sv, "image/x-icon"},
                              Exact{"\x00\x00\x02\x00"sv, "image/x-icon"},
                              Exact{"BM"sv, "image/bmp"},
                              Exact{"GIF87a"sv, "image/gif"},
                              Exact{"GIF89a"sv, "image/gif"},
                              Exact{"\x89PNG\x0D\x0A\x1A\x0A"sv, "image/png"},
                              Exact{"\xFF\xD8\xFF"sv, "image/jpeg"},
                              Exact{"ID3"sv, "audio/mpeg"},
                              Exact{"OggS\x00"sv, "application/ogg"},
                              Exact{"MThd\x00\x00\x00\x06"sv, "audio/midi"},
                              Exact{"\x1A\x45\xDF\xA3"sv, "video/webm"},
                              Exact{"\x00\x01\x00\x00"sv, "font/ttf"},
                              Exact{"OTTO"sv, "font/otf"},
                              Exact{"ttcf"sv, "font/collection"},
                              Exact{"wOFF"sv, "font/woff"},
                              Exact{"wOF2"sv, "font/woff2"},
                              Exact{"\x1F\x8B\x08"sv, "application/x-gzip"},
                              Exact{"PK\x03\x04"sv, "application/zip"},
                              Exact{"Rar!\x1A\x07\x00"sv, "application/x-rar-compressed"},
                              Exact{"Rar!\x1A\x07\x01\x00"sv, "application/x-rar-compressed"},
                              Exact{"\x00\x61\x73\x6D"sv, "application/wasm"}};

constexpr std::array riff = {Exact{"WEBPVP"sv, "image/webp"}, Exact{"WAVE"sv, "audio/wave"},
                             Exact{"AVI "sv, "video/avi"}};

constexpr std::array html_tags = {"<!DOCTYPE HTML"sv,
                                  "<HTML"sv,
                                  "<HEAD"sv,
                                  "<SCRIPT"sv,
                                  "<IFRAME"sv,
                                  "<H1"sv,
                                  "<DIV"sv,
                                  "<FONT"sv,
                                  "<TABLE"sv,
                                  "<A"sv,
                                  "<STYLE"sv,
                                  "<TITLE"sv,
                                  "<B"sv,
                                  "<BODY"sv,
                                  "<BR"sv,
                                  "<P"sv,
                                  "<!--"sv};

bool is_html(std::string_view text) {
  for (std::string_view tag : html_tags) {
    if (text.size() <= tag.size()) continue;
    bool same = std::equal(tag.begin(), tag.end(), text.begin(), [](char wanted, char given) {
      return given == wanted || (wanted >= 'A' && wanted <= 'Z' && given == wanted + 32);
    });
    char next = text[tag.size()];
    if (same && (tag == "<!--" || next == ' ' || next == '>')) return true;
  }
  return false;
}

bool is_mp4(std::string_view data) {
  if (data.size() < 12 || data.substr(4, 4) != "ftyp") return false;
  std::size_t box = 0;
  for (std::size_t i = 0; i < 4; ++i)
    box = box << 8 | static_cast<unsigned char>(data[i]);
  if (box % 4 != 0 || box > data.size()) return false;
  for (std::size_t at = 8; at + 3 <= box; at += 4) {
    if (at != 12 && data.substr(at, 3) == "mp4") return true;  // 12 is the version number
  }
  return false;
}

bool is_binary(char c) {
  auto byte = static_cast<unsigned char>(c);
  return byte <= 0x08 || byte == 0x0B || (byte >= 0x0E && byte <= 0x1A)
         || (byte >= 0x1C && byte <= 0x1F);
}

std::string_view sniff(std::string_view data) {
  std::size_t first = data.find_first_not_of(white_space);
  std::string_view text = first == std::string_view::npos ? "" : data.substr(first);
  if (is_html(text)) return html;
  if (text.starts_with("<?xml")) return "text/xml; charset=utf-8";
  for (const Exact& each : exact) {
    if (data.starts_with(each.bytes)) return each.type;
  }
  if (data.size() >= 12 && data.starts_with("RIFF")) {
    for (const Exact& each : riff) {
      if (data.substr(8).starts_with(each.bytes)) return each.type;
    }
  }
  if (data.size() >= 12 && data.starts_with("FORM") && data.substr(8, 4) == "AIFF")
    return "audio/aiff";
  if (is_mp4(data)) return "video/mp4";
  if (std::any_of(text.begin(), text.end(), is_binary)) return "application/octet-stream";
  return "text/plain; charset=utf-8";
}

}  // namespace

std::string detect_content_type(std::string_view name, std::string_view head) {
  constexpr std::string_view json = ".json";
  if (name.size() >= json.size() && name.substr(name.size() - json.size()) == json)
    return "application/json";
  if (head.empty()) return "application/octet-stream";
  return std::string{sniff(head.substr(0, 512))};
}

}  // namespace nomad::host
