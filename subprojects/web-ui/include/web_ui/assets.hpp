// The files of the web UI as they are embedded in the program (embed.py writes the table).
#pragma once

#include <span>
#include <string_view>

namespace nomad::web_ui {

struct Asset {
  std::string_view path;  ///< "index.html", "app-3F2A.js"
  std::string_view type;  ///< For Content-Type.
  std::string_view hash;  ///< Of the content; in hexadecimal digits.
  std::string_view gzip;  ///< The content, compressed.
};

/// Sorted by path; empty when the program was built without. For ever; any thread.
std::span<const Asset> assets();

}  // namespace nomad::web_ui
