#include "runtime/csi/sample/store.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace nomad::csi::sample {
namespace {

namespace fs = std::filesystem;

std::string whole(const fs::path& path) {
  std::ifstream file{path};
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

/// Whole or not at all.
void replace(const fs::path& path, const std::string& content) {
  const auto fresh = path.string() + ".new";
  {
    std::ofstream file{fresh, std::ios::trunc};
    file << content;
  }
  fs::rename(fresh, path);
}

}  // namespace

Store::Store(fs::path root) : root_{std::move(root)} {
  fs::create_directories(root_ / "volumes");
  fs::create_directories(root_ / "snapshots");
}

std::string Store::id_of(const std::string& name) {
  std::string id;
  for (const char sign : name) {
    const bool is_plain = (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z')
                          || (sign >= '0' && sign <= '9') || sign == '-' || sign == '_';
    char code[4];
    std::snprintf(code, sizeof code, "%%%02x", static_cast<unsigned char>(sign));
    id += is_plain ? std::string(1, sign) : code;
  }
  return id.substr(0, 200);
}

fs::path Store::path_of(Kind kind, const std::string& id) const {
  return root_ / (kind == Kind::volumes ? "volumes" : "snapshots") / id;
}

fs::path Store::data(Kind kind, const std::string& id) const {
  return path_of(kind, id) / "data";
}

std::optional<About> Store::read(Kind kind, const std::string& id) const {
  // What comes from outside never leads anywhere else.
  if (id.empty() || id.find('/') != id.npos || id.front() == '.') return std::nullopt;
  if (!fs::exists(path_of(kind, id) / "about")) return std::nullopt;
  About about;
  std::istringstream lines{whole(path_of(kind, id) / "about")};
  for (std::string line; std::getline(lines, line);)
    if (const auto space = line.find(' '); space != line.npos)
      about[line.substr(0, space)] = line.substr(space + 1);
  return about;
}

void Store::write(Kind kind, const std::string& id, const About& about) const {
  std::string content;
  for (const auto& [key, value] : about)
    content += key + ' ' + value + '\n';
  replace(path_of(kind, id) / "about", content);
}

void Store::make(Kind kind, const std::string& id, const About& about, const fs::path& from) const {
  fs::remove_all(path_of(kind, id));  // of one that was killed over it
  fs::create_directories(path_of(kind, id) / "attached");
  if (from.empty())
    fs::create_directories(data(kind, id));
  else
    fs::copy(from, data(kind, id), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  write(kind, id, about);
}

void Store::remove(Kind kind, const std::string& id) const {
  fs::remove(path_of(kind, id) / "about");
  fs::remove_all(path_of(kind, id));
}

std::vector<std::string> Store::list(Kind kind) const {
  std::vector<std::string> ids;
  for (const auto& entry : fs::directory_iterator{path_of(kind, "")})
    if (fs::exists(entry.path() / "about")) ids.push_back(entry.path().filename());
  std::sort(ids.begin(), ids.end());
  return ids;
}

About Store::attached(const std::string& volume) const {
  About nodes;
  for (const auto& entry : fs::directory_iterator{path_of(Kind::volumes, volume) / "attached"})
    nodes[entry.path().filename()] = whole(entry.path());
  return nodes;
}

void Store::attach(const std::string& volume,
                   const std::string& node,
                   const std::string& how) const {
  replace(path_of(Kind::volumes, volume) / "attached" / node, how);
}

void Store::detach(const std::string& volume, const std::string& node) const {
  fs::remove(path_of(Kind::volumes, volume) / "attached" / node);
}

}  // namespace nomad::csi::sample
