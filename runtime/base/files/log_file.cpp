#include "runtime/base/files/log_file.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <sys/stat.h>

#include <fmt/format.h>

#include "runtime/base/files/bounded.hpp"
#include "runtime/base/text.hpp"

namespace nomad::log {
namespace {

namespace fs = std::filesystem;

Error failed(const fs::path& path, const std::error_code& why) {
  return {Errc::io, fmt::format("log_file \"{}\": {}", path.string(), why.message())};
}

std::string extension_of(const fs::path& path) {
  return path.has_extension() ? path.extension().string() : ".log";
}

/// When the file was begun, as far as the file system tells: its last change, if it is older.
std::int64_t begun_at(const fs::path& path, std::int64_t now) {
  struct stat info {};

  if (stat(path.c_str(), &info) != 0 || info.st_size == 0) return now;
  return std::min(now, std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec);
}

}  // namespace

Result<LogFile> LogFile::open(const std::string& path, const Rotation& rotation, std::int64_t now) {
  fs::path whole{path};
  if (path.ends_with('/')) whole /= "nomad.log";
  LogFile file{std::move(whole), rotation};
  std::error_code failure;
  if (file.path_.has_parent_path()) fs::create_directories(file.path_.parent_path(), failure);
  if (failure) return failed(file.path_, failure);
  NOMAD_TRY(file.begin(now));
  return file;
}

Result<> LogFile::append(std::string_view line, std::int64_t now) {
  const auto rotated = is_due(now) ? rotate(now) : Result<>{};
  if (!file_.is_open()) NOMAD_TRY(begin(now));
  file_ << line << '\n' << std::flush;
  if (!file_) {
    file_.clear();  // the disk may have room again for the next line
    return failed(path_, {errno, std::generic_category()});
  }
  written_ += static_cast<std::int64_t>(line.size()) + 1;
  return rotated;
}

bool LogFile::is_due(std::int64_t now) const {
  const bool is_full = rotation_.bytes > 0 && written_ >= rotation_.bytes;
  const bool is_old = rotation_.age.count() > 0 && now - begun_ >= rotation_.age.count();
  return is_regular_ && (is_full || is_old);
}

Result<> LogFile::begin(std::int64_t now) {
  begun_ = begun_at(path_, now);
  file_.clear();
  file_.open(path_, std::ios::binary | std::ios::app);
  if (!file_) return failed(path_, {errno, std::generic_category()});
  std::error_code failure;
  is_regular_ = fs::is_regular_file(path_, failure);
  written_ = is_regular_ ? static_cast<std::int64_t>(fs::file_size(path_, failure)) : 0;
  return failure ? Result<>{failed(path_, failure)} : Result<>{};
}

Result<> LogFile::rotate(std::int64_t now) {
  file_.close();
  auto full = path_;
  full.replace_filename(fmt::format("{}-{}{}", path_.stem().string(), now, extension_of(path_)));
  std::error_code failure;
  fs::rename(path_, full, failure);
  NOMAD_TRY(begin(now));
  if (!failure) return remove_oldest();
  written_ = 0;
  begun_ = now;
  return failed(full, failure);
}

Result<> LogFile::remove_oldest() const {
  if (rotation_.max_files <= 0) return {};
  const auto start = path_.stem().string() + '-';
  const auto folder = path_.has_parent_path() ? path_.parent_path() : fs::path{"."};
  std::vector<fs::path> full;
  std::error_code failure;
  for (const auto& name : NOMAD_TRY(names_in(folder.string()))) {
    const auto path = folder / name;
    const auto stem = path.stem().string();
    const bool is_ours = stem.starts_with(start) && path.extension() == extension_of(path_)
                         && is_digits(std::string_view{stem}.substr(start.size()));
    if (is_ours) full.push_back(path);
  }
  std::sort(full.begin(), full.end());
  for (std::size_t i = 0; i + static_cast<std::size_t>(rotation_.max_files) < full.size(); ++i)
    if (!fs::remove(full[i], failure) && failure) return failed(full[i], failure);
  return {};
}

}  // namespace nomad::log
