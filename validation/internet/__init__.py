"""The question of the 2010 paper on paths of the Internet: which share of swarms, and of peers, stays within 15%?"""
