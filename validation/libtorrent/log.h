// One line of JSON for each decision; hooks.toml calls this from inside of libtorrent.
#pragma once

#include "libtorrent/address.hpp"
#include "libtorrent/socket.hpp"

#include <cstdarg>
#include <cstdio>
#include <string>

namespace oracle {

bool logging(char const *kind);                                  // whether decisions of this kind are wanted
int owner(void const *session);                                  // number of the peer whose session (session_interface) it is
int number(lt::address const &ip);                               // number of the peer at an address
void line(char const *kind, int peer, char const *format, ...);  // {"t": .., "kind": .., "peer": .., the rest
void add(std::string &list, char const *format, ...);            // one more entry of a list

}  // namespace oracle
