"""Public copies of iPlane's links between PoPs: which of them a file is.

The repositories state no licence, so their files are not shipped, only what git calls them: the SHA-1 of a file's
length and content.
"""

from __future__ import annotations

import hashlib

KNOWN = {
    "8252cc4c0e34aa79484c5c837c2581e4eaa8d1eb": "in mamoonraja/IndirectionDC",
    "d5a787ab779fc5fffa108229090b96979fce87c8": "of 2015-06-13 in afressancourt/popmap",
    "7df6dd2834813739d4c9078722989b5a993e46e4": "of 2015-06-14 in afressancourt/popmap",
    "0c6b302f9871d0cd52666092cc523522cb83a8f8": "of 2015-06-15 in afressancourt/popmap",
    "13b50a9b28cb0dd361d542f71b232363d4fbbc3a": "of 2015-06-16 in afressancourt/popmap",
    "03f29672a14a4bb3834ee3c3488197b4e7f79c94": "of 2015-06-17 in afressancourt/popmap",
    "3d831b0347cc6725eb9b5770d33e547dbf79c6a2": "of 2015-06-18 in afressancourt/popmap",
    "849607ab825bd41aac4a1c0eefc0db4c378f5418": "of 2015-06-19 in afressancourt/popmap",
    "8239515a0b7120dc77ca381bfbdf6f53d608aa61": "of 2015-06-20 in afressancourt/popmap",
    "70d3096e26f143010a0bfbfd6f97cafccd02baff": "of 2015-06-21 in afressancourt/popmap",
    "8bc7038b80e323df55d10576d937b0dd7ba83ed8": "of 2015-06-22 in afressancourt/popmap",
    "c7ac7cab287c4f534d867296c80c69094dfde867": "of 2015-06-23 in afressancourt/popmap",
    "e9692cf26ddb295422dedc7ef3cfe96e55b1826f": "of 2015-06-24 in afressancourt/popmap",
    "b80d80d33297f916eee782aa31cb68c21a2fd20c": "of 2015-06-25 in afressancourt/popmap",
    "82a4477071f34c4bd4cf3a0957547537b4d05311": "of 2015-06-26 in afressancourt/popmap",
    "a13ff100b881e29e3695097424e00d1b65214053": "of 2015-06-27 in afressancourt/popmap",
    "3ce34763fa2e654c3d25e1742690fbd68e959927": "of 2015-06-28 in afressancourt/popmap",
    "8646d7493dc79d9b14b4c14878be449cbc9ed557": "of 2015-06-29 in afressancourt/popmap",
    "2b0529e130fa11cb7bcb3d83a9a038b43ab05786": "of 2015-06-30 in afressancourt/popmap",
    "dee2345a8b93dc16f14254062c477d561e2df535": "of 2015-07-01 in afressancourt/popmap",
    "f2d74e7c6dcff95cae2e7ff001f4d25395ffcb83": "of 2015-07-02 in afressancourt/popmap",
    "289153bf56518a2706b982cff7ea63823aa7ac07": "of 2015-07-03 in afressancourt/popmap",
    "a21530a36515fcad7cee8e23a2518c0fd9f93991": "of 2015-07-04 in afressancourt/popmap",
    "892bf3e1d1a30e2f961cfc10b117144015aaa887": "of 2015-07-05 in afressancourt/popmap",
    "56fbe46079e6feeb0d00f6bbed14ce2b580a5fe6": "of 2015-07-06 in afressancourt/popmap",
    "0a8bf25119dba93fe35421c2805925a4848e3ca8": "of 2015-07-07 in afressancourt/popmap",
    "67497d5212fcf03efdc560e6bdb359a19eb59fc1": "of 2015-07-08 in afressancourt/popmap",
    "848ffe08ac9538dacb9596b13d1de0bfaf7dce10": "of 2015-07-09 in afressancourt/popmap",
    "90b0178841032a9cef076b9c7badf80c0430ccaf": "of 2015-07-10 in afressancourt/popmap",
    "1c54be5dcbe8bd949592da6e8b702a4c0a865f41": "of 2015-07-11 in afressancourt/popmap",
    "cfb4c5f3bf770bec1bc54a2756ee0d4e4640bec1": "of 2015-07-12 in afressancourt/popmap",
    "abc6cb729997f5cb1f18efa463ed69811f1d4ffb": "of 2015-07-13 in afressancourt/popmap",
    "6d5e3ced4adf7bc84a1ef0e3d30eae0b6c310da0": "of 2015-07-14 in afressancourt/popmap",
}
"""Of ``inter_pop_links.txt`` and the files of days: afressancourt/popmap at 13fae77f, mamoonraja/IndirectionDC at
3e9cc34b."""


def known(content: bytes) -> str:
    """Say which known file of links this is; nothing if it is none of them."""
    of_git = b"blob %d\0" % len(content) + content
    found = KNOWN.get(hashlib.sha1(of_git, usedforsecurity=False).hexdigest())
    return "" if found is None else f"iPlane's file {found}"
