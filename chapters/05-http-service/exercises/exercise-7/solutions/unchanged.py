"""The server's own class, which has one owner for each request."""

from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    pass
